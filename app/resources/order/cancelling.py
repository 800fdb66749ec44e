"""Who asks the provider to cancel a subscription: one request at a time, by a claim that lapses by itself."""

from datetime import datetime, timedelta
from enum import Enum

import sqlalchemy as sa

from app.core.errors import Conflict, NotFound
from app.drivers.billing.port import SubscriptionStatus
from app.extensions import db
from app.models.base import moment
from app.models.order import Subscription

CLAIM_LASTS = timedelta(seconds=120)
"""Longer than all attempts of the driver together; then whoever asks next looks at the provider first."""


class Turn(Enum):
    """Whose turn it is."""

    OURS = "ours"
    ANOTHERS = "another's"
    DONE = "done"


class Ended(Conflict):
    """There is nothing left to cancel (409)."""

    code, message = "SUBSCRIPTION_ENDED", "This subscription has ended already"


def claim(subscription_id: str, *, immediately: bool, waited: bool) -> tuple[Turn, datetime | None]:
    """Try to become the one who asks; the claim is told so that only its holder gives it back.

    What ended while the caller `waited` for another request is done, not a conflict.

    Raises:
        Ended: the subscription had ended before.
        NotFound: it is gone.
    """
    row = db.session.scalar(
        sa.select(Subscription)
        .where(Subscription.id == subscription_id)
        .with_for_update()
        .execution_options(populate_existing=True)
    )
    if row is None:
        raise NotFound("Subscription not found")
    if row.status == SubscriptionStatus.CANCELED:
        if not waited:
            raise Ended
        return Turn.DONE, None
    if row.cancel_at is not None and not immediately:
        return Turn.DONE, None
    if row.canceling_until is not None and row.canceling_until > moment():
        return Turn.ANOTHERS, None
    row.canceling_until = moment() + CLAIM_LASTS
    db.session.flush()
    return Turn.OURS, row.canceling_until


def give_back(subscription_id: str, claimed: datetime | None) -> None:
    """Let the next one ask: the provider was asked in vain."""
    db.session.execute(
        sa.update(Subscription)
        .where(Subscription.id == subscription_id, Subscription.canceling_until == claimed)
        .values(canceling_until=None)
    )
