"""What every front matter editor shares: the edit, its refusal, and when two values are the same."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any


class CannotKeep(ValueError):
    """The rest of the file could not be kept as it is; the message says why."""


@dataclass(frozen=True)
class Edit:
    """Keys to set and keys to take out; `old` is what is there, as values of JSON's types."""

    values: Mapping[str, Any]
    unset: Sequence[str]
    newline: str
    old: Mapping[str, Any]


def same(one: Any, other: Any) -> bool:
    """Whether two values of JSON's types are the same; whole numbers are the same with and without `.0`."""
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same, one, other))
    return (type(one) is type(other) and one == other) or (_is_number(one) and _is_number(other) and one == other)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float)
