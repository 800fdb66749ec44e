"""Orders and subscriptions (spec 4.11)."""

from app.access.guards import own_user, platform_admin, verified
from app.access.scope import Scope, UserScope
from app.core.outbound import UnrecordedAct
from app.extensions import current_settings, drivers
from app.http.blueprint import ApiBlueprint
from app.http.endpoint import UPSTREAM, endpoint
from app.models.order import PreOrder, Subscription
from app.resources.order import actions, service
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
    return service.history(scope.target_id, by=scope.caller)


@blueprint.post("/cancel")
@endpoint(
    operation_id="cancelSubscription",
    guard=own_subscription("subscription_id", in_body=True),
    body=CancelSubscriptionBody,
    result=SubscriptionSchema,
    message="Subscription canceled",
    outside=True,
    rate="billing",
    errors=(
        "NOT_FOUND",
        "SUBSCRIPTION_ENDED",
        "BILLING_REFUSED",
        *UPSTREAM,
    ),
)
def cancel(*, scope: SubscriptionScope, body: CancelSubscriptionBody) -> UnrecordedAct[Subscription]:
    """Cancel an active subscription, at the end of its period or at once."""
    immediately = body.effective_from is EffectiveFrom.IMMEDIATELY
    return actions.cancel(scope.subscription, drivers.billing, immediately=immediately, reason=body.reason)


@blueprint.get("/update-payment-method/<subscriptionId>")
@endpoint(
    operation_id="startPaymentMethodUpdate",
    guard=own_subscription("subscriptionId"),
    result=PaymentUpdateSchema,
    message="Transaction for another payment method",
    outside=True,
    errors=(
        "SUBSCRIPTION_ENDED",
        "BILLING_REFUSED",
        *UPSTREAM,
    ),
)
def update_payment_method(*, scope: SubscriptionScope) -> dict[str, str | None]:
    """Return a transaction in which the payer changes the payment method."""
    update, token = actions.payment_update(scope.subscription, drivers.billing), current_settings().billing.client_token
    return {"transaction_id": update.transaction_id, "checkout_url": update.checkout_url, "client_token": token}


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
