"""Route for notifications of the payment provider (contract 4.11)."""

from app.access.guards import public
from app.access.scope import Scope
from app.core import clock
from app.core.limits import InputLimits
from app.drivers.billing.port import BillingProvider, InvalidSignature, MalformedEvent, ProviderEvent
from app.extensions import drivers
from app.http.blueprint import ApiBlueprint
from app.http.body import header, raw_body
from app.http.endpoint import endpoint
from app.resources.order.event_store import store_event
from app.resources.webhooks.errors import BadSignature, UnreadableEvent
from app.resources.webhooks.schemas import AcknowledgedSchema, BillingNotificationSchema

SIGNATURE = "Paddle-Signature"


def read_notification(scope: Scope) -> ProviderEvent:
    """Verify the signature and parse the event.

    Raises:
        BadSignature: no live secret signed the event, or its timestamp is too old.
        UnreadableEvent: the event is signed and cannot be parsed.
    """
    billing: BillingProvider = drivers.billing
    try:
        return billing.parse_notification(header(SIGNATURE), raw_body(), clock.now())
    except InvalidSignature as error:
        raise BadSignature from error
    except MalformedEvent as error:
        raise UnreadableEvent(str(error)) from error


blueprint = ApiBlueprint(
    "webhooks_billing",
    __name__,
    title="Payment notifications",
    noun="billing webhook",
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
    errors=("BAD_SIGNATURE", "UNREADABLE_EVENT"),
)
def receive(*, scope: Scope, prepared: ProviderEvent) -> dict[str, bool]:
    """Store an event of the payment provider."""
    store_event(prepared)
    return {"received": True}
