"""Claims to cancel a subscription: one request at a time calls the provider. A claim expires."""

from datetime import datetime, timedelta
from enum import Enum

import sqlalchemy as sa

from app.core.errors import Conflict, NotFound
from app.drivers.billing.port import SubscriptionStatus
from app.extensions import db
from app.models.base import utcnow_ms
from app.models.order import Subscription

CLAIM_LIFETIME = timedelta(seconds=120)
"""Longer than all attempts of the driver. After that, the next request checks the provider first."""


class ClaimOutcome(Enum):
    """The result of a claim."""

    OURS = "ours"
    ANOTHERS = "another's"
    DONE = "done"


class SubscriptionEnded(Conflict):
    """The subscription has ended (409)."""

    code, message = "SUBSCRIPTION_ENDED", "This subscription has already ended"


def claim(subscription_id: str, *, immediately: bool, waited: bool) -> tuple[ClaimOutcome, datetime | None]:
    """Claim the right to cancel a subscription. Returns the expiry of the claim, which only its holder can release.

    A subscription that ended while the caller `waited` for another request is done and not a conflict.

    Raises:
        SubscriptionEnded: the subscription ended before the request.
        NotFound: the subscription does not exist.
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
            raise SubscriptionEnded
        return ClaimOutcome.DONE, None
    if row.cancel_at is not None and not immediately:
        return ClaimOutcome.DONE, None
    if row.canceling_until is not None and row.canceling_until > utcnow_ms():
        return ClaimOutcome.ANOTHERS, None
    row.canceling_until = utcnow_ms() + CLAIM_LIFETIME
    db.session.flush()
    return ClaimOutcome.OURS, row.canceling_until


def release_claim(subscription_id: str, claimed: datetime | None) -> None:
    """Release a claim after a failed call to the provider."""
    db.session.execute(
        sa.update(Subscription)
        .where(Subscription.id == subscription_id, Subscription.canceling_until == claimed)
        .values(canceling_until=None)
    )
