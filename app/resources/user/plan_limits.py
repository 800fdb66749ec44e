"""Creation limits that the plan of a user raises above the defaults."""

from collections.abc import Mapping
from dataclasses import replace

import sqlalchemy as sa

from app.core.limits import Limits
from app.extensions import db
from app.models.order import Subscription

ENTITLED = ("active", "trialing", "past_due")
"""States of a subscription in which its plan applies. A failed payment changes nothing while it is retried."""

Plans = Mapping[str, Mapping[str, int]]
"""Limits by plan: `organizations`, `projects`, `projects_per_organization`, `members`."""


def limits_for(user_id: str, *, limits: Limits, plans: Plans) -> Limits:
    """Return the limits of a user: each number is the largest of the default and the plans of the user."""
    if not plans:
        return limits
    statement = sa.select(Subscription.plan).where(Subscription.user_id == user_id, Subscription.status.in_(ENTITLED))
    bought = [plans[plan] for plan in db.session.scalars(statement) if plan in plans]
    raised = {
        name: max(getattr(limits, name), *(plan[name] for plan in bought if name in plan))
        for name in {name for plan in bought for name in plan}
    }
    return replace(limits, **raised)
