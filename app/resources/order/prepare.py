"""Calls to the payment provider before the transaction of a route."""

import time

from app.access.scope import Scope
from app.core.errors import Conflict, NotFound
from app.database import session
from app.drivers.billing.port import BillingProvider, PaymentUpdate, ProviderEvent, UnknownSubscription
from app.extensions import drivers
from app.models.order import Subscription
from app.resources.order import cancel_claim
from app.resources.order.cancel_claim import ClaimOutcome
from app.resources.order.schemas import CancelSubscriptionBody, EffectiveFrom

WAIT_S, POLL_INTERVAL_S = 20.0, 0.1


def cancel(scope: Scope, body: CancelSubscriptionBody) -> ProviderEvent | None:
    """Cancel the subscription at the provider. Return None if it is already canceled.

    Raises:
        SubscriptionEnded: the subscription ended before the request.
        NotFound: the provider does not know the subscription, or billing is disabled.
        Conflict: another request is canceling it.
    """
    subscription: Subscription = scope.targets["subscription"]
    subscription_id, provider_id = subscription.id, subscription.provider_id
    immediately = body.effective_from is EffectiveFrom.IMMEDIATELY
    outcome, claimed = ClaimOutcome.ANOTHERS, None
    start = time.monotonic()
    for attempt in range(round(WAIT_S / POLL_INTERVAL_S)):
        with session.write_transaction():
            outcome, claimed = cancel_claim.claim(subscription_id, immediately=immediately, waited=attempt > 0)
        session.release_connection()
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
        with session.write_transaction():
            cancel_claim.release_claim(subscription_id, claimed)
        raise


def _cancel(billing: BillingProvider, provider_id: str, *, immediately: bool) -> ProviderEvent:
    try:
        return billing.cancel(provider_id, immediately=immediately)
    except UnknownSubscription as error:
        raise NotFound("Subscription not found") from error


def payment_update(scope: Scope) -> PaymentUpdate:
    """Create a checkout in which the payer changes the payment method.

    Raises:
        NotFound: the provider does not know the subscription, or billing is disabled.
        UpstreamRejected: its payment method cannot change.
    """
    subscription: Subscription = scope.targets["subscription"]
    billing: BillingProvider = drivers.billing
    session.release_connection()
    try:
        return billing.payment_update(subscription.provider_id)
    except UnknownSubscription as error:
        raise NotFound("Subscription not found") from error
