"""What happens before a billing route's transaction: the payment provider is asked, and no connection waits for it."""

import time

from app import transactions
from app.core.errors import Conflict, NotFound
from app.drivers.billing.port import BillingEvent, BillingProvider, PaymentUpdate, UnknownSubscription
from app.extensions import drivers
from app.http.scope import Scope
from app.models.order import Subscription
from app.resources.order import cancelling
from app.resources.order.cancelling import Turn
from app.resources.order.schemas import CancelBody, EffectiveFrom

WAIT_S, LOOK_EVERY_S = 20.0, 0.1


def cancel(scope: Scope, body: CancelBody) -> BillingEvent | None:
    """Cancel the subscription at the provider; None when it is done already, by this or another request.

    Raises:
        Ended: it had ended before.
        NotFound: the provider does not know it, or billing is switched off.
        Conflict: another request is still at it.
    """
    subscription: Subscription = scope.found["subscription"]
    wanted, provider_id = subscription.id, subscription.provider_id
    immediately = body["effective_from"] is EffectiveFrom.IMMEDIATELY
    turn, claimed = Turn.ANOTHERS, None
    start = time.monotonic()
    for look in range(round(WAIT_S / LOOK_EVERY_S)):
        with transactions.writing():
            turn, claimed = cancelling.claim(wanted, immediately=immediately, waited=look > 0)
        transactions.rest()
        if turn is not Turn.ANOTHERS or time.monotonic() - start > WAIT_S:
            break
        time.sleep(LOOK_EVERY_S)
    if turn is Turn.ANOTHERS:
        raise Conflict("Another request is canceling this subscription", code="STILL_RUNNING")
    if turn is Turn.DONE:
        return None
    try:
        return _ask(drivers["billing"], provider_id, immediately=immediately)
    except BaseException:
        with transactions.writing():
            cancelling.give_back(wanted, claimed)
        raise


def _ask(billing: BillingProvider, provider_id: str, *, immediately: bool) -> BillingEvent:
    try:
        return billing.cancel(provider_id, immediately=immediately)
    except UnknownSubscription as unknown:
        raise NotFound("Subscription not found") from unknown


def payment_update(scope: Scope) -> PaymentUpdate:
    """Ask the provider for a checkout in which the payer changes how they pay.

    Raises:
        NotFound: the provider does not know the subscription, or billing is switched off.
        Rejected: it is not one whose payment method can change.
    """
    subscription: Subscription = scope.found["subscription"]
    billing: BillingProvider = drivers["billing"]
    transactions.rest()
    try:
        return billing.payment_update(subscription.provider_id)
    except UnknownSubscription as unknown:
        raise NotFound("Subscription not found") from unknown
