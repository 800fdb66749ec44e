"""What the plan a user pays for allows beyond the creation limits of everybody."""

from collections.abc import Mapping
from dataclasses import replace

import sqlalchemy as sa

from app.core.limits import Limits
from app.extensions import db
from app.models.order import Subscription

ENTITLED = ("active", "trialing", "past_due")
"""The states of a subscription in which its plan holds; a failed payment takes nothing away while it is tried again."""

Plans = Mapping[str, Mapping[str, int]]
"""By plan, what its subscribers may create: `organizations`, `projects`, `projects_per_organization`, `members`."""


def limits_for(user_id: str, *, limits: Limits, plans: Plans) -> Limits:
    """The limits of a user: of each number the largest among everybody's and those of the user's plans."""
    if not plans:
        return limits
    wanted = sa.select(Subscription.plan).where(Subscription.user_id == user_id, Subscription.status.in_(ENTITLED))
    bought = [plans[plan] for plan in db.session.scalars(wanted) if plan in plans]
    raised = {
        name: max(getattr(limits, name), *(plan[name] for plan in bought if name in plan))
        for name in {name for plan in bought for name in plan}
    }
    return replace(limits, **raised)
