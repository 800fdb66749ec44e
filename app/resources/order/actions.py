"""Use cases of subscriptions at the payment provider: the cancellation and another payment method."""

import time

import structlog

from app.core.errors import Conflict, NotFound
from app.core.outbound import UnrecordedAct
from app.database import transactions
from app.drivers.billing.port import BillingProvider, PaymentUpdate, UnknownSubscription
from app.extensions import db
from app.models.order import Subscription
from app.resources.order import service
from app.resources.order.event_store import store_event
from app.resources.order.service import ClaimOutcome

log = structlog.get_logger(__name__)

WAIT_S, POLL_INTERVAL_S = 20.0, 0.1


def cancel(
    subscription: Subscription, billing: BillingProvider, *, immediately: bool, reason: str | None = None
) -> UnrecordedAct[Subscription]:
    """Cancel a subscription, at the end of its period or at once. It can be canceled already.

    Raises:
        SubscriptionEnded: the subscription ended before the request.
        NotFound: the provider does not know the subscription, or billing is disabled.
        Conflict: another request is canceling it.
    """
    subscription_id, provider_id, event = subscription.id, subscription.provider_id, None
    outcome, claimed = ClaimOutcome.ANOTHERS, None
    start = time.monotonic()
    for attempt in range(round(WAIT_S / POLL_INTERVAL_S)):
        with transactions.write_transaction():
            outcome, claimed = service.claim(subscription_id, immediately=immediately, waited=attempt > 0)
        if outcome is not ClaimOutcome.ANOTHERS or time.monotonic() - start > WAIT_S:
            break
        time.sleep(POLL_INTERVAL_S)
    if outcome is ClaimOutcome.ANOTHERS:
        raise Conflict("Another request is canceling this subscription", code="STILL_RUNNING")
    if outcome is not ClaimOutcome.DONE:
        try:
            event = billing.cancel(provider_id, immediately=immediately)
        except BaseException as error:
            with transactions.write_transaction():
                service.release_claim(subscription_id, claimed)
            if isinstance(error, UnknownSubscription):
                raise NotFound("Subscription not found") from error
            raise

    def record() -> Subscription:
        if event is not None:
            log.info("order.canceled", subscription_id=subscription.id, reason=reason)
            store_event(event)
            subscription.canceling_until = None
            db.session.flush()
        db.session.refresh(subscription)
        return subscription

    return UnrecordedAct(record)


def payment_update(subscription: Subscription, billing: BillingProvider) -> PaymentUpdate:
    """Create a checkout in which the payer changes the payment method.

    Raises:
        NotFound: the provider does not know the subscription, or billing is disabled.
        UpstreamRejected: its payment method cannot change.
    """
    try:
        with transactions.outside_transaction():
            return billing.payment_update(subscription.provider_id)
    except UnknownSubscription as error:
        raise NotFound("Subscription not found") from error
