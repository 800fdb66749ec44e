"""Orders and subscriptions (spec 4.11)."""

from app.access.guards import own_user, platform_admin, verified
from app.access.scope import Scope, UserScope
from app.drivers.billing.port import PaymentUpdate, ProviderEvent
from app.extensions import current_settings
from app.http.blueprint import ApiBlueprint
from app.http.endpoint import endpoint
from app.http.upstream_errors import UPSTREAM
from app.models.order import PreOrder, Subscription
from app.resources.order import prepare, service
from app.resources.order.guards import SubscriptionScope, own_subscription
from app.resources.order.schemas import (
    BillingHistorySchema,
    CancelSubscriptionBody,
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
    guard=own_user("userId", or_platform_admin=True, spec_name="verifyAuth+self (decided)"),
    result=BillingHistorySchema,
    message="Orders and subscriptions",
)
def read(*, scope: UserScope) -> service.BillingHistory:
    """Return a user's orders and subscriptions."""
    return service.history(scope.target, by=scope.user)


@blueprint.post("/cancel")
@endpoint(
    guard=own_subscription("subscription_id", in_body=True),
    body=CancelSubscriptionBody,
    result=SubscriptionSchema,
    message="Subscription canceled",
    upstream=prepare.cancel,
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
    guard=own_subscription("subscriptionId"),
    result=PaymentUpdateSchema,
    message="Transaction for another payment method",
    upstream=prepare.payment_update,
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
@endpoint(guard=platform_admin(), query=SummaryQuery, result=SummarySchema, message="Revenue and subscriptions")
def read_summary(*, scope: Scope, query: SummaryQuery) -> Summary:
    """Return revenue and subscription figures of the whole platform."""
    return summary(query.since, query.until, query.currency)
