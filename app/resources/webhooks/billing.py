"""Notifications of the payment provider (contract 4.11)."""

from flask import Blueprint, request

from app.core import clock
from app.core.limits import InputLimits
from app.drivers.billing.port import BillingEvent, BillingProvider, Forged, Unreadable
from app.extensions import drivers
from app.http.endpoint import endpoint
from app.http.guards import public
from app.http.scope import Scope
from app.http.validation import Body, Flag
from app.resources.order.recording import record
from app.resources.webhooks.intake import BadSignature, UnreadableEvent, raw_body
from app.resources.webhooks.schemas import BillingNotification

blueprint = Blueprint("webhooks_billing", __name__)

SIGNATURE = "Paddle-Signature"


class Acknowledged(Body):
    """The event is kept, or of no concern."""

    received = Flag()


def read_notification(_scope: Scope) -> BillingEvent:
    """Check who sent it and read it, before the database is written to.

    Raises:
        BadSignature: it is not signed with a live secret, or too long ago.
        UnreadableEvent: it is signed and makes no sense.
    """
    billing: BillingProvider = drivers["billing"]
    try:
        return billing.notification(request.headers.get(SIGNATURE), raw_body(), clock.now())
    except Forged as forged:
        raise BadSignature from forged
    except Unreadable as unreadable:
        raise UnreadableEvent(str(unreadable)) from unreadable


@blueprint.post("/billing")
@endpoint(
    guard=public("public+signature"), sent=BillingNotification, result=Acknowledged, message="Received", prepare=read_notification,
    max_bytes=InputLimits.webhook_bytes, rate="webhook",
)  # fmt: skip
def receive(_scope: Scope, event: BillingEvent) -> dict[str, bool]:
    """Take in what the payment provider tells."""
    record(event)
    return {"received": True}
