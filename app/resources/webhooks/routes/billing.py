"""Route for notifications of the payment provider (contract 4.11)."""

from app.access.guards import public
from app.access.scope import Scope
from app.core.limits import InputLimits
from app.drivers.billing.port import ProviderEvent
from app.http.blueprint import ApiBlueprint
from app.http.endpoint import endpoint
from app.resources.order.event_store import store_event
from app.resources.webhooks.routes.git import read_notification
from app.resources.webhooks.schemas import AcknowledgedSchema, BillingNotificationSchema

blueprint = ApiBlueprint(
    "webhooks_billing",
    __name__,
    title="Payment notifications",
    description="Events that the payment provider sends.",
)


@blueprint.post("/billing")
@endpoint(
    guard=public("public+signature"),
    documented_body=BillingNotificationSchema,
    result=AcknowledgedSchema,
    message="Received",
    upstream=read_notification,
    max_bytes=InputLimits.webhook_bytes,
    rate="webhook",
    errors=(
        "BAD_SIGNATURE",
        "UNREADABLE_EVENT",
    ),
)
def receive(*, scope: Scope, prepared: ProviderEvent) -> dict[str, bool]:
    """Store an event of the payment provider."""
    store_event(prepared)
    return {"received": True}
