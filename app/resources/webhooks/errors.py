"""Errors of inbound webhooks."""

from app.core.errors import InvalidRequest


class BadSignature(InvalidRequest):
    """The signature of the provider is missing or wrong (400)."""

    code, message = "BAD_SIGNATURE", "The signature is invalid"


class UnreadableEvent(InvalidRequest):
    """The provider sent an event that cannot be parsed (400). The provider sends it again."""

    code, message = "UNREADABLE_EVENT", "The event cannot be parsed"
