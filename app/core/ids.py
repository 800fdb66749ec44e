"""Opaque, sortable ids with a prefix: TypeID, a UUIDv7 in base32 (contract, section 0)."""

import re
from datetime import datetime
from typing import Protocol

from typeid import TypeID
from uuid_utils import UUID

PATTERN = re.compile(r"[0-7][0-9a-hjkmnp-tv-z]{25}")


class HasId(Protocol):
    """An object or row of which only the id is needed."""

    @property
    def id(self) -> str:
        """The id."""


def new_id(prefix: str) -> str:
    """Return a new id such as `usr_01j…`. Ids of one prefix sort by creation time."""
    return str(TypeID(prefix=prefix))


def first_id(prefix: str, at: datetime) -> str:
    """Return the smallest id of a creation time. Ids that were created earlier sort before it."""
    milliseconds = int(at.timestamp() * 1_000)
    return str(TypeID.from_uuid(UUID(int=milliseconds << 80), prefix))


def is_id(value: object, prefix: str) -> bool:
    """Return whether `value` is a well-formed id of the prefix."""
    return (
        isinstance(value, str)
        and value.startswith(f"{prefix}_")
        and PATTERN.fullmatch(value[len(prefix) + 1 :]) is not None
    )
