"""Opaque cursors of lists."""

import base64
import binascii
from collections.abc import Callable, Sequence
from typing import TypeVar

from app.core.errors import InvalidRequest

MAX_DIGITS = 9
T = TypeVar("T")


def encode_cursor(kind: str, value: str) -> str:
    """Encode the position after an entry of a list ordered by `kind`."""
    return base64.urlsafe_b64encode(f"{kind}:{value}".encode()).decode().rstrip("=")


def decode_cursor(cursor: str, kind: str) -> str:
    """Decode a cursor. Raises InvalidRequest for a text that is not a cursor of such a list."""
    try:
        raw = base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)).decode()
    except (binascii.Error, ValueError) as error:
        raise InvalidRequest.field("cursor", "The cursor does not belong to this list") from error
    cursor_kind, _, value = raw.partition(":")
    if cursor_kind != kind or not value or "\x00" in value:
        raise InvalidRequest.field("cursor", "The cursor does not belong to this list")
    return value


def paginate(rows: Sequence[T], limit: int, kind: str, key: Callable[[T], str]) -> tuple[Sequence[T], str | None]:
    """Return the first `limit` rows, and the cursor after them or None if there are no more."""
    page = rows[:limit]
    return page, encode_cursor(kind, key(page[-1])) if len(rows) > limit else None


def encode_position(kind: str, number: int, key: str = "") -> str:
    """Encode the position after `number` items, and the key of the last one."""
    return encode_cursor(kind, f"{number}:{key}")


def decode_position(cursor: str, kind: str) -> tuple[int, str]:
    """Decode the number and the key of a position. Raises InvalidRequest for another cursor."""
    number, _, key = decode_cursor(cursor, kind).partition(":")
    if not (number.isdecimal() and len(number) <= MAX_DIGITS):
        raise InvalidRequest.field("cursor", "The cursor does not belong to this list")
    return int(number), key
