"""Differences of front matter: steps that turn one list into another, and the values that differ between versions."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from app.content.sequence_diff import find_changes

MAX_CHANGES = 500
MAX_COMPARED = 10_000
"""Pairs of a removed and an inserted item that are compared by their values."""


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


def diff_items(old: Sequence[object], new: Sequence[object]) -> list[Step]:
    """Return the steps from `old` to `new`, in order. Equal items have no step."""
    return [
        step
        for change in find_changes(list(map(key_of, old)), list(map(key_of, new)))
        for step in _steps(range(change.start, change.end), range(change.new_start, change.new_end))
    ]


def find_moves(old: Sequence[object], new: Sequence[object], steps: Sequence[Step]) -> dict[int, int]:
    """Return the old positions of moved items by their new ones.

    These are removed items that are inserted elsewhere: equal ones, then objects with at least half of their values.
    """
    removed = {step.index for step in steps if not isinstance(step, Insertion)}
    free = {key_of(old[index]): index for index in removed}
    moves = dict[int, int]()
    for step in steps:
        if not isinstance(step, Removal) and (position := free.pop(key_of(new[step.new]), None)) is not None:
            moves[step.new] = position
    moved = set(moves.values())
    candidates = [step.index for step in steps if isinstance(step, Removal) and step.index not in moved]
    inserted = [step.new for step in steps if isinstance(step, Insertion) and step.new not in moves]
    for index in inserted if len(inserted) * len(candidates) <= MAX_COMPARED else ():
        best = max(candidates, key=lambda at: equal_share(old[at], new[index]), default=None)
        if best is not None and equal_share(old[best], new[index]) >= 0.5:
            moves[index] = best
            candidates.remove(best)
    return moves


def old_positions(old: int, new: int, steps: Sequence[Step]) -> dict[int, int]:
    """Return the old positions of items that have no step by their new ones, for lists of these lengths."""
    removed = {step.index for step in steps if not isinstance(step, Insertion)}
    added = {step.new for step in steps if not isinstance(step, Removal)}
    unchanged = (position for position in range(old) if position not in removed)
    return dict(zip((index for index in range(new) if index not in added), unchanged, strict=True))


def separate_moves(steps: Sequence[Step], moves: Mapping[int, int]) -> list[Step]:
    """Return steps in which a changed item that takes part in a move is removed and inserted instead."""
    moved, result = set(moves.values()), list[Step]()
    for step in steps:
        if isinstance(step, ItemChange) and (step.index in moved or step.new in moves):
            result += [Insertion(step.index, step.new), Removal(step.index)]
        else:
            result.append(step)
    return result


def equal_share(value: object, other: object) -> float:
    """Return the share of the values of an object that another one has."""
    if not (value and isinstance(value, Mapping) and isinstance(other, Mapping)):
        return 0
    return sum(key in other and key_of(value[key]) == key_of(other[key]) for key in value) / len(value)


def key_of(value: object) -> str:
    """Return a text that is equal for equal values. Whole numbers are equal with and without `.0`."""
    # The key of a text is the only one that starts with a quotation mark. It needs no escapes.
    return f'"{value}' if isinstance(value, str) else _encode(_normalized(value))


def _normalized(value: object) -> object:
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, list):
        return [_normalized(item) for item in value]
    if isinstance(value, dict):
        return {key: _normalized(inner) for key, inner in value.items()}
    return value


def _steps(old: range, new: range) -> Iterator[Step]:
    both = min(len(old), len(new))
    for index, other in zip(old[:both], new[:both], strict=True):
        yield ItemChange(index, other)
    for index in old[both:]:
        yield Removal(index)
    for other in new[both:]:
        yield Insertion(old.stop, other)


class ValueChange(NamedTuple):
    """A value at a JSON pointer (RFC 6901) before and after a change. A missing value is None."""

    pointer: str
    before: object
    after: object


def changed_values(before: Mapping[str, object] | None, after: Mapping[str, object] | None) -> list[ValueChange]:
    """Return the changed values, at most 500. Nested objects are compared key by key, lists as one value."""
    changes = _changes("", before or {}, after or {})
    return [change for change, _ in zip(changes, range(MAX_CHANGES), strict=False)]


def _changes(pointer: str, before: Mapping[str, object], after: Mapping[str, object]) -> Iterator[ValueChange]:
    for key in [*before, *(key for key in after if key not in before)]:
        old, new = before.get(key), after.get(key)
        location = f"{pointer}/{str(key).replace('~', '~0').replace('/', '~1')}"
        if isinstance(old, Mapping) and isinstance(new, Mapping):
            yield from _changes(location, old, new)
        # In JSON `true` is not `1`, so the types are compared too.
        elif key not in before or key not in after or type(old) is not type(new) or old != new:
            yield ValueChange(location, old, new)
