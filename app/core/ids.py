"""Opaque prefixed sortable ids: TypeID, a UUIDv7 in base32 behind a prefix (contract, section 0)."""

import re
from datetime import datetime
from typing import Protocol

from typeid import TypeID
from uuid_utils import UUID


class Identified(Protocol):
    """Whoever or whatever only its id is wanted of: an object or a row."""

    @property
    def id(self) -> str:
        """Which one."""


PATTERN = re.compile(r"[0-7][0-9a-hjkmnp-tv-z]{25}")


def new_id(prefix: str) -> str:
    """A fresh id such as `usr_01j…`; ids of one prefix sort by time of making."""
    return str(TypeID(prefix=prefix))


def first_id(prefix: str, at: datetime) -> str:
    """The smallest id that could have been made at that time: those made before sort before it."""
    milliseconds = int(at.timestamp() * 1_000)
    return str(TypeID.from_uuid(UUID(int=milliseconds << 80), prefix))


def is_id(value: object, prefix: str) -> bool:
    """Whether `value` is a well-formed id of that prefix."""
    return (
        isinstance(value, str)
        and value.startswith(f"{prefix}_")
        and PATTERN.fullmatch(value[len(prefix) + 1 :]) is not None
    )
