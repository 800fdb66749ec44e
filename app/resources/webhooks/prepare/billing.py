"""Verification of notifications of the payment provider, before the database transaction."""

from app.access.scope import Scope
from app.core import clock
from app.drivers.billing.port import BillingProvider, InvalidSignature, MalformedEvent, ProviderEvent
from app.extensions import drivers
from app.http.raw_request import header, raw_body
from app.resources.webhooks.errors import BadSignature, UnreadableEvent

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
