"""Opaque cursors of lists: where a page ended, so that only we read it."""

import base64
import binascii

from app.core.errors import Invalid


def encode_cursor(kind: str, value: str) -> str:
    """A cursor for a list ordered by `kind`."""
    return base64.urlsafe_b64encode(f"{kind}:{value}".encode()).decode().rstrip("=")


def decode_cursor(cursor: str, kind: str) -> str:
    """The value a cursor stands for. Raises Invalid for anything we did not make for such a list."""
    try:
        raw = base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)).decode()
    except (binascii.Error, ValueError) as error:
        raise Invalid.field("cursor", "This is not a cursor of this list") from error
    found, _, value = raw.partition(":")
    if found != kind or not value or "\x00" in value:
        raise Invalid.field("cursor", "This is not a cursor of this list")
    return value
