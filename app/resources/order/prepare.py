"""Calls to the payment provider before the transaction of a route.

A claim makes sure that one request at a time cancels a subscription. It expires.
"""

import time
from datetime import datetime, timedelta
from enum import Enum

import sqlalchemy as sa

from app.core.errors import Conflict, NotFound
from app.database import transactions
from app.drivers.billing.port import (
    BillingProvider,
    PaymentUpdate,
    ProviderEvent,
    SubscriptionStatus,
    UnknownSubscription,
)
from app.extensions import db, drivers
from app.models.base import utcnow_ms
from app.models.order import Subscription
from app.resources.order.guards import SubscriptionScope
from app.resources.order.schemas import CancelSubscriptionBody, EffectiveFrom

WAIT_S, POLL_INTERVAL_S = 20.0, 0.1


def cancel(scope: SubscriptionScope, body: CancelSubscriptionBody) -> ProviderEvent | None:
    """Cancel the subscription at the provider. Return None if it is already canceled.

    Raises:
        SubscriptionEnded: the subscription ended before the request.
        NotFound: the provider does not know the subscription, or billing is disabled.
        Conflict: another request is canceling it.
    """
    subscription: Subscription = scope.subscription
    subscription_id, provider_id = subscription.id, subscription.provider_id
    immediately = body.effective_from is EffectiveFrom.IMMEDIATELY
    outcome, claimed = ClaimOutcome.ANOTHERS, None
    start = time.monotonic()
    for attempt in range(round(WAIT_S / POLL_INTERVAL_S)):
        with transactions.write_transaction():
            outcome, claimed = claim(subscription_id, immediately=immediately, waited=attempt > 0)
        if outcome is not ClaimOutcome.ANOTHERS or time.monotonic() - start > WAIT_S:
            break
        time.sleep(POLL_INTERVAL_S)
    if outcome is ClaimOutcome.ANOTHERS:
        raise Conflict("Another request is canceling this subscription", code="STILL_RUNNING")
    if outcome is ClaimOutcome.DONE:
        return None
    try:
        return _cancel(drivers.billing, provider_id, immediately=immediately)
    except BaseException:
        with transactions.write_transaction():
            release_claim(subscription_id, claimed)
        raise


def _cancel(billing: BillingProvider, provider_id: str, *, immediately: bool) -> ProviderEvent:
    try:
        return billing.cancel(provider_id, immediately=immediately)
    except UnknownSubscription as error:
        raise NotFound("Subscription not found") from error


def payment_update(scope: SubscriptionScope) -> PaymentUpdate:
    """Create a checkout in which the payer changes the payment method.

    Raises:
        NotFound: the provider does not know the subscription, or billing is disabled.
        UpstreamRejected: its payment method cannot change.
    """
    subscription: Subscription = scope.subscription
    billing: BillingProvider = drivers.billing
    try:
        with transactions.outside_transaction():
            return billing.payment_update(subscription.provider_id)
    except UnknownSubscription as error:
        raise NotFound("Subscription not found") from error


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
