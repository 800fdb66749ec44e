"""What all webhooks share: the body as it was signed, and the answers to what is not signed or cannot be read."""

from flask import request

from app.core.errors import Invalid
from app.http.body import RAW


class BadSignature(Invalid):
    """The sender has not shown that they are the provider (400)."""

    code, message = "BAD_SIGNATURE", "The signature is not right"


class UnreadableEvent(Invalid):
    """The provider sent what we cannot read (400); it will send it again."""

    code, message = "UNREADABLE_EVENT", "The event cannot be read"


def raw_body() -> bytes:
    """The bytes that were sent, as `endpoint` read them within the limits."""
    raw: bytes = request.environ.get(RAW, b"")
    return raw
