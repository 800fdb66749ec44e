"""The billing page of the own account: plan, used limits, subscriptions and orders."""

from flask import Response

from app.access.guards import verified
from app.access.scope import Scope
from app.console.blueprint import ROOT, blueprint
from app.console.shell.forms import Form
from app.console.shell.pages import Page, see_other
from app.console.shell.rendering import page
from app.extensions import current_settings, drivers
from app.http.actions import run
from app.http.loading import instance
from app.resources.order import actions, service
from app.resources.order.guards import own_subscription
from app.resources.order.schemas import BillingHistorySchema, CancelSubscriptionBody
from app.resources.user import creation_limits
from app.resources.user.creation_limits import limits_of

URL = f"{ROOT}/account/billing"


@blueprint.get("/account/billing")
@Page(guard=verified())
def billing(*, scope: Scope) -> Response:
    """Show the plan, the used limits, the subscriptions and the orders."""
    return page(
        "account/billing.html",
        history=instance(BillingHistorySchema).dump(service.history(scope.caller.id, by=scope.caller)),
        limits=creation_limits.check(scope.caller, limits=limits_of(scope.caller.id)),
        is_enabled=current_settings().billing.driver != "none",
    )


@blueprint.post("/account/billing/cancel")
@Page(guard=verified(), inputs=("subscription_id",), shown_by="billing")
def cancel_subscription(*, scope: Scope, form: Form) -> Response:
    """Cancel a subscription at the end of the paid period."""
    body = CancelSubscriptionBody.loaded(form.texts("subscription_id"))
    run(
        lambda scope: actions.cancel(scope.subscription, drivers.billing, immediately=False),
        {"subscription_id": body.subscription_id},
        guard=own_subscription("subscription_id"),
        outside=True,
        rate="billing",
    )
    return see_other(f"{URL}?done=canceled")
