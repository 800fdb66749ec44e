"""Steps that turn one list into another and keep as many items as possible."""

import difflib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

MAX_COMPARED_PAIRS = 250_000
"""Above this number of pairs, changed items are replaced in order, because a comparison would take seconds."""


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


def diff_items(old: Sequence[Any], new: Sequence[Any]) -> list[Step]:
    """Return the steps from `old` to `new`, in order. Equal items have no step."""
    before, after = list(map(_key, old)), list(map(_key, new))
    start = _common(before, after)
    end = _common(before[start:][::-1], after[start:][::-1])
    middle_before, middle_after = before[start : len(before) - end], after[start : len(after) - end]
    codes: Sequence[tuple[str, int, int, int, int]] = [("replace", 0, len(middle_before), 0, len(middle_after))]
    if len(middle_before) * len(middle_after) <= MAX_COMPARED_PAIRS:
        matcher = difflib.SequenceMatcher(None, middle_before, middle_after, autojunk=False)
        codes = [code for code in matcher.get_opcodes() if code[0] != "equal"]
    return [
        step
        for _tag, i1, i2, j1, j2 in codes
        for step in _steps(range(start + i1, start + i2), range(start + j1, start + j2))
    ]


def _key(value: Any) -> str:
    """Return a text that is equal for equal values. Whole numbers are equal with and without `.0`."""
    return json.dumps(_normalized(value), sort_keys=True)


def _normalized(value: Any) -> Any:
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, list):
        return [_normalized(each) for each in value]
    if isinstance(value, dict):
        return {key: _normalized(each) for key, each in value.items()}
    return value


def _common(one: list[str], other: list[str]) -> int:
    pairs = enumerate(zip(one, other, strict=False))
    return next((index for index, (a, b) in pairs if a != b), min(len(one), len(other)))


def _steps(old: range, new: range) -> Iterator[Step]:
    both = min(len(old), len(new))
    for index, other in zip(old[:both], new[:both], strict=True):
        yield ItemChange(index, other)
    for index in old[both:]:
        yield Removal(index)
    for other in new[both:]:
        yield Insertion(old.stop, other)
