"""Opaque prefixed sortable ids: TypeID, a UUIDv7 in base32 behind a prefix (contract, section 0)."""

import re

from typeid import TypeID

PATTERN = re.compile(r"[0-7][0-9a-hjkmnp-tv-z]{25}")


def new_id(prefix: str) -> str:
    """A fresh id such as `usr_01j…`; ids of one prefix sort by time of making."""
    return str(TypeID(prefix=prefix))


def is_id(value: object, prefix: str) -> bool:
    """Whether `value` is a well-formed id of that prefix."""
    return (
        isinstance(value, str)
        and value.startswith(f"{prefix}_")
        and PATTERN.fullmatch(value[len(prefix) + 1 :]) is not None
    )
