"""Edits of front matter, their error, and the comparison of values."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any


class UnsupportedEdit(ValueError):
    """The edit cannot be made without other changes. The message contains the reason."""


@dataclass(frozen=True)
class KeyEdit:
    """Keys to set and keys to remove. `old` contains the present values."""

    values: Mapping[str, Any]
    unset: Sequence[str]
    newline: str
    old: Mapping[str, Any]


def values_equal(one: Any, other: Any) -> bool:
    """Return True if two JSON values are equal. Whole numbers are equal with and without `.0`."""
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return one.keys() == other.keys() and all(values_equal(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(values_equal, one, other))
    return (type(one) is type(other) and one == other) or (_is_number(one) and _is_number(other) and one == other)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float)
