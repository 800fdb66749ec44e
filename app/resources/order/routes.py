"""Orders and subscriptions (spec 4.11)."""

import time

from app.access.guards import own_user, platform_admin, verified
from app.access.scope import Scope, UserScope
from app.core.errors import Conflict, NotFound
from app.database import transactions
from app.drivers.billing.port import (
    BillingProvider,
    PaymentUpdate,
    ProviderEvent,
    UnknownSubscription,
)
from app.extensions import current_settings, drivers
from app.http.blueprint import ApiBlueprint
from app.http.endpoint import UPSTREAM, endpoint
from app.models.order import PreOrder, Subscription
from app.resources.order import service
from app.resources.order.guards import SubscriptionScope, own_subscription
from app.resources.order.schemas import (
    BillingHistorySchema,
    CancelSubscriptionBody,
    EffectiveFrom,
    PaymentUpdateSchema,
    PreOrderBody,
    PreOrderSchema,
    SubscriptionSchema,
    SummaryQuery,
    SummarySchema,
)
from app.resources.order.summary import Summary, summary

WAIT_S, POLL_INTERVAL_S = 20.0, 0.1


def cancel_at_provider(scope: SubscriptionScope, body: CancelSubscriptionBody) -> ProviderEvent | None:
    """Cancel the subscription at the provider. Return None if it is already canceled.

    Raises:
        SubscriptionEnded: the subscription ended before the request.
        NotFound: the provider does not know the subscription, or billing is disabled.
        Conflict: another request is canceling it.
    """
    subscription: Subscription = scope.subscription
    subscription_id, provider_id = subscription.id, subscription.provider_id
    immediately = body.effective_from is EffectiveFrom.IMMEDIATELY
    outcome, claimed = service.ClaimOutcome.ANOTHERS, None
    start = time.monotonic()
    for attempt in range(round(WAIT_S / POLL_INTERVAL_S)):
        with transactions.write_transaction():
            outcome, claimed = service.claim(subscription_id, immediately=immediately, waited=attempt > 0)
        if outcome is not service.ClaimOutcome.ANOTHERS or time.monotonic() - start > WAIT_S:
            break
        time.sleep(POLL_INTERVAL_S)
    if outcome is service.ClaimOutcome.ANOTHERS:
        raise Conflict("Another request is canceling this subscription", code="STILL_RUNNING")
    if outcome is service.ClaimOutcome.DONE:
        return None
    try:
        return _cancel(drivers.billing, provider_id, immediately=immediately)
    except BaseException:
        with transactions.write_transaction():
            service.release_claim(subscription_id, claimed)
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


blueprint = ApiBlueprint(
    "order",
    __name__,
    title="Billing",
    description="Orders, subscriptions and revenue.",
    parameters={
        "currency": "An ISO 4217 code. Only figures of this currency.",
        "from": "The first day.",
        "subscriptionId": "The id of a subscription, or the id at the payment provider.",
        "to": "The last day.",
    },
)


@blueprint.get("/<userId>")
@endpoint(
    operation_id="listOrders",
    guard=own_user("userId", or_platform_admin=True, spec_name="verifyAuth+self (decided)"),
    result=BillingHistorySchema,
    message="Orders and subscriptions",
)
def read(*, scope: UserScope) -> service.BillingHistory:
    """Return a user's orders and subscriptions."""
    return service.history(scope.target, by=scope.user)


@blueprint.post("/cancel")
@endpoint(
    operation_id="cancelSubscription",
    guard=own_subscription("subscription_id", in_body=True),
    body=CancelSubscriptionBody,
    result=SubscriptionSchema,
    message="Subscription canceled",
    upstream=cancel_at_provider,
    rate="billing",
    errors=(
        "NOT_FOUND",
        "SUBSCRIPTION_ENDED",
        "BILLING_REFUSED",
        *UPSTREAM,
    ),
)
def cancel(*, scope: SubscriptionScope, body: CancelSubscriptionBody, prepared: ProviderEvent | None) -> Subscription:
    """Cancel an active subscription, at the end of its period or at once."""
    return service.cancel(scope.subscription, prepared, reason=body.reason)


@blueprint.get("/update-payment-method/<subscriptionId>")
@endpoint(
    operation_id="startPaymentMethodUpdate",
    guard=own_subscription("subscriptionId"),
    result=PaymentUpdateSchema,
    message="Transaction for another payment method",
    upstream=payment_update,
    errors=(
        "SUBSCRIPTION_ENDED",
        "BILLING_REFUSED",
        *UPSTREAM,
    ),
)
def update_payment_method(*, scope: SubscriptionScope, prepared: PaymentUpdate) -> dict[str, str | None]:
    """Return a transaction in which the payer changes the payment method."""
    token = current_settings().billing.client_token
    return {"transaction_id": prepared.transaction_id, "checkout_url": prepared.checkout_url, "client_token": token}


@blueprint.post("/pre-order")
@endpoint(
    operation_id="createPreOrder",
    guard=verified("verifyAuth (decided)"),
    body=PreOrderBody,
    result=PreOrderSchema,
    status=201,
    message="Pre-order noted",
    rate="billing",
)
def pre_order(*, scope: Scope, body: PreOrderBody) -> PreOrder:
    """Note an abandoned checkout or interest in a plan."""
    return service.pre_order(scope.user, **body.sent())


@blueprint.get("/summary")
@endpoint(
    operation_id="getOrderSummary",
    guard=platform_admin(),
    query=SummaryQuery,
    result=SummarySchema,
    message="Revenue and subscriptions",
)
def read_summary(*, scope: Scope, query: SummaryQuery) -> Summary:
    """Return revenue and subscription figures of the whole platform."""
    return summary(query.since, query.until, query.currency)
