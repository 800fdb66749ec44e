"""Orders and subscriptions (spec 4.11)."""

from flask import Blueprint

from app.drivers.billing.port import BillingEvent, PaymentUpdate
from app.http.configuration import settings
from app.http.endpoint import endpoint
from app.http.guards import own_user, platform_admin, verified
from app.http.scope import Scope
from app.models.order import PreOrder, Subscription
from app.resources.order import preparation, service
from app.resources.order.guards import own_subscription
from app.resources.order.schemas import (
    CancelBody,
    CancelSubscription,
    HistoryView,
    NotePreOrder,
    PaymentUpdateView,
    PreOrderBody,
    PreOrderView,
    SubscriptionView,
    SummaryArguments,
    SummaryRange,
    SummaryView,
)
from app.resources.order.summary import Summary, summary

blueprint = Blueprint("order", __name__)


@blueprint.get("/<userId>")
@endpoint(
    guard=own_user("userId", or_platform_admin=True, words="verifyAuth+self (decided)"), result=HistoryView,
    message="Orders and subscriptions",
)  # fmt: skip
def read(scope: Scope) -> service.History:
    """Return a user's orders and subscriptions."""
    return service.history(scope.user, by=scope.actor)


@blueprint.post("/cancel")
@endpoint(
    guard=own_subscription("subscription_id", in_body=True), body=CancelSubscription, result=SubscriptionView,
    message="Subscription canceled", prepare=preparation.cancel, rate="billing",
)  # fmt: skip
def cancel(scope: Scope, body: CancelBody, outcome: BillingEvent | None) -> Subscription:
    """Cancel an active subscription, at the end of its period or at once."""
    return service.cancel(scope.found["subscription"], outcome, reason=body["reason"])


@blueprint.get("/update-payment-method/<subscriptionId>")
@endpoint(
    guard=own_subscription("subscriptionId"), result=PaymentUpdateView, message="Transaction for another payment method",
    prepare=preparation.payment_update,
)  # fmt: skip
def update_payment_method(_scope: Scope, found: PaymentUpdate) -> dict[str, str | None]:
    """Return a transaction in which the payer changes the payment method."""
    token = settings().billing.client_token
    return {"transaction_id": found.transaction_id, "checkout_url": found.checkout_url, "client_token": token}


@blueprint.post("/pre-order")
@endpoint(
    guard=verified("verifyAuth (decided)"), body=NotePreOrder, result=PreOrderView, status=201,
    message="Pre-order noted", rate="billing",
)  # fmt: skip
def pre_order(scope: Scope, body: PreOrderBody) -> PreOrder:
    """Note an abandoned checkout or interest in a plan."""
    return service.pre_order(scope.actor, **body)


@blueprint.get("/summary")
@endpoint(guard=platform_admin(), query=SummaryRange, result=SummaryView, message="Revenue and subscriptions")
def read_summary(_scope: Scope, query: SummaryArguments) -> Summary:
    """Return revenue and subscription figures of the whole platform."""
    return summary(**query)
