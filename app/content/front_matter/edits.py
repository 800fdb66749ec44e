"""Edits of front matter, their error, and the comparison of values."""

from collections.abc import Iterable, Mapping, Sequence
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


@dataclass(frozen=True)
class Changed:
    """The values of a mapping before and after an edit."""

    before: Mapping[str, Any]
    after: Mapping[str, Any]

    def __contains__(self, key: object) -> bool:
        """Return whether the value of a key differs, or exists on one side only."""
        is_common = key in self.before and key in self.after
        return not (is_common and values_equal(self.before[str(key)], self.after[str(key)]))

    def within(self, key: str) -> "Changed | None":
        """Return the change of the mapping at a key, or None if one side has another value."""
        before, after = self.before.get(key), self.after.get(key)
        return Changed(before, after) if isinstance(before, Mapping) and isinstance(after, Mapping) else None


def values_equal(one: Any, other: Any) -> bool:
    """Return True if two JSON values are equal. Whole numbers are equal with and without `.0`."""
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return one.keys() == other.keys() and all(values_equal(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(values_equal, one, other))
    return (type(one) is type(other) and one == other) or (_is_number(one) and _is_number(other) and one == other)


def positions_of(keys: Iterable[str]) -> dict[str, int]:
    """Return the position of each key."""
    return {key: position for position, key in enumerate(keys)}


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float)
