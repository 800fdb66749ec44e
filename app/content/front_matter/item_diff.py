"""Steps that turn one list into another and keep as many items as possible."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from app.content.sequence_diff import find_changes


@dataclass(frozen=True)
class ItemChange:
    """Replacement of the old item at `index` by the new item at `new`."""

    index: int
    new: int


@dataclass(frozen=True)
class Removal:
    """Removal of the old item at `index`."""

    index: int


@dataclass(frozen=True)
class Insertion:
    """Insertion of the new item at `new` before the old item at `index`."""

    index: int
    new: int


Step = ItemChange | Removal | Insertion

_encode = json.JSONEncoder(sort_keys=True).encode


def diff_items(old: Sequence[Any], new: Sequence[Any]) -> list[Step]:
    """Return the steps from `old` to `new`, in order. Equal items have no step."""
    return [
        step
        for change in find_changes(list(map(_key, old)), list(map(_key, new)))
        for step in _steps(range(change.start, change.end), range(change.new_start, change.new_end))
    ]


def _key(value: Any) -> str:
    """Return a text that is equal for equal values. Whole numbers are equal with and without `.0`."""
    # The key of a text is the only one that starts with a quotation mark. It needs no escapes.
    return f'"{value}' if isinstance(value, str) else _encode(_normalized(value))


def _normalized(value: Any) -> Any:
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, list):
        return [_normalized(each) for each in value]
    if isinstance(value, dict):
        return {key: _normalized(each) for key, each in value.items()}
    return value


def _steps(old: range, new: range) -> Iterator[Step]:
    both = min(len(old), len(new))
    for index, other in zip(old[:both], new[:both], strict=True):
        yield ItemChange(index, other)
    for index in old[both:]:
        yield Removal(index)
    for other in new[both:]:
        yield Insertion(old.stop, other)
