"""The billing page of the own account: plan, used limits, subscriptions and orders."""

from flask import Response

from app.access.guards import verified
from app.access.scope import Scope
from app.console.blueprint import ROOT, blueprint
from app.console.shell import api
from app.console.shell.forms import Form
from app.console.shell.pages import Page, see_other
from app.console.shell.rendering import page
from app.extensions import current_settings
from app.resources.order import routes as orders
from app.resources.order.schemas import EffectiveFrom
from app.resources.user import creation_limits
from app.resources.user.creation_limits import limits_of

URL = f"{ROOT}/account/billing"


@blueprint.get("/account/billing")
@Page(guard=verified())
def billing(*, scope: Scope) -> Response:
    """Show the plan, the used limits, the subscriptions and the orders."""
    return page(
        "account/billing.html",
        history=api.read(orders.read, {"userId": scope.caller.id}),
        limits=creation_limits.check(scope.user, limits=limits_of(scope.caller.id)),
        is_enabled=current_settings().billing.driver != "none",
    )


@blueprint.post("/account/billing/cancel")
@Page(guard=verified(), inputs=("subscription_id",), shown_by="billing")
def cancel_subscription(*, scope: Scope, form: Form) -> Response:
    """Cancel a subscription at the end of the paid period."""
    data = form.texts("subscription_id") | {"effective_from": EffectiveFrom.NEXT_BILLING_PERIOD}
    api.write(orders.cancel, data=data)
    return see_other(f"{URL}?done=canceled")
