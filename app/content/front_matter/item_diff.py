"""Differences of front matter: steps that turn one list into another, and the values that differ between versions."""

import json
from collections import defaultdict, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, Final, NamedTuple

from app.content.sequence_diff import equal_parts, find_changes

MAX_CHANGES = 500
MAX_COMPARED = 10_000
"""Pairs of a removed and an inserted item that are compared by their values."""

IDENTITY_KEYS = ("id", "slug", "name", "path", "url", "href", "key", "title")
"""Keys by which the objects of a list are matched. The first one that is unique in all versions is used."""


class Absence(Enum):
    """The type of `MISSING`, the value of a key or an item that a version does not have."""

    MISSING = "missing"


MISSING: Final = Absence.MISSING
Named = Mapping[str, object]
"""The values of a mapping by key, or the items of a list by their identity, in their order."""


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
    removed = {step.index: key_of(old[step.index]) for step in steps if not isinstance(step, Insertion)}
    inserted = {step.new: key_of(new[step.new]) for step in steps if not isinstance(step, Removal)}
    moves = _equal(removed, inserted)
    moved = set(moves.values())
    candidates = [step.index for step in steps if isinstance(step, Removal) and step.index not in moved]
    added = [step.new for step in steps if isinstance(step, Insertion) and step.new not in moves]
    return moves | _similar(old, new, candidates, added)


def _equal(removed: Mapping[int, str], inserted: Mapping[int, str]) -> dict[int, int]:
    """Return the positions of removed items by those of inserted ones with the same key."""
    free, pairs = defaultdict[str, deque[int]](deque), dict[int, int]()
    for index, key in removed.items():
        free[key].append(index)
    for index, key in inserted.items():
        if free.get(key):
            pairs[index] = free[key].popleft()
    return pairs


def _similar(
    old: Sequence[object], new: Sequence[object], removed: Sequence[int], inserted: Sequence[int]
) -> dict[int, int]:
    """Return the positions of removed objects by those of inserted ones with at least half of their values."""
    if len(inserted) * len(removed) > MAX_COMPARED:
        return {}
    own, pairs = {index: _keys_of(old[index]) for index in removed}, dict[int, int]()
    for index in inserted:
        keys = _keys_of(new[index])
        best = max(own, key=lambda at: _share(own[at], keys), default=None)
        if best is not None and _share(own[best], keys) >= 0.5:
            pairs[index] = best
            del own[best]
    return pairs


def _keys_of(value: object) -> Mapping[str, str]:
    return {name: key_of(inner) for name, inner in value.items()} if isinstance(value, Mapping) else {}


def _share(keys: Mapping[str, str], other: Mapping[str, str]) -> float:
    return sum(other.get(name) == key for name, key in keys.items()) / len(keys) if keys else 0


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
    return _share(_keys_of(value), _keys_of(other))


def key_of(value: object) -> str:
    """Return a text that is equal for equal values. Whole numbers are equal with and without `.0`."""
    # The key of a text is the only one that starts with a quotation mark. It needs no escapes.
    return f'"{value}' if isinstance(value, str) else _encode(_normalized(value))


def are_identical(value: object, other: object) -> bool:
    """Return whether two JSON values are equal and of the same types, also inside: `1`, `1.0` and `true` are not."""
    return value == other and _encode(value) == _encode(other)


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
    """A value at a JSON pointer (RFC 6901) before and after a change. A missing value is `MISSING`."""

    pointer: str
    before: object
    after: object

    def to_dict(self) -> dict[str, object]:
        """Return JSON values: null for a missing value, whose side is in `missing`."""
        sides = {"before": self.before, "after": self.after}
        values = {name: None if side is MISSING else side for name, side in sides.items()}
        return {"pointer": self.pointer, **values, "missing": [name for name in sides if sides[name] is MISSING]}

    @classmethod
    def from_dict(cls, change: Mapping[str, Any]) -> "ValueChange":
        """Return the change that a dictionary of `to_dict` describes."""
        sides = (MISSING if name in change["missing"] else change[name] for name in ("before", "after"))
        return cls(change["pointer"], *sides)


def changed_values(before: Mapping[str, object] | None, after: Mapping[str, object] | None) -> list[ValueChange]:
    """Return the changed values, at most 500. Nested objects are compared key by key, lists as one value."""
    changes = _changes("", before or {}, after or {})
    return [change for change, _ in zip(changes, range(MAX_CHANGES), strict=False)]


def _changes(pointer: str, before: Mapping[str, object], after: Mapping[str, object]) -> Iterator[ValueChange]:
    for key in [*before, *(key for key in after if key not in before)]:
        old, new = before.get(key, MISSING), after.get(key, MISSING)
        location = f"{pointer}/{str(key).replace('~', '~0').replace('/', '~1')}"
        if isinstance(old, Mapping) and isinstance(new, Mapping):
            yield from _changes(location, old, new)
        elif not are_identical(old, new):
            yield ValueChange(location, old, new)


class ChangedItem(NamedTuple):
    """An added, removed, moved or changed item, with its positions in both lists. A list without it has None."""

    old: int | None
    new: int | None
    is_moved: bool = False


def changed_items(old: Sequence[object], new: Sequence[object]) -> list[ChangedItem]:
    """Return the items that differ between two lists, in the order of the new one.

    Items are matched by their identity, else by equal values. Then objects are matched that have the same position
    between equal items, or at least half of their values.
    """
    named = named_items(old, new)
    keys = [list(side) for side in named] if named is not None else [list(map(key_of, side)) for side in (old, new)]
    changes = find_changes(*keys)
    pairs = {start + at: index for part, start in equal_parts(changes, len(old)) for at, index in enumerate(part)}
    ranges = [(range(change.start, change.end), range(change.new_start, change.new_end)) for change in changes]
    moves = _equal(*({at: keys[side][at] for pair in ranges for at in pair[side]} for side in (0, 1)))
    moved = set(moves.values())
    for removed, inserted in ranges:
        own, other = [at for at in removed if at not in moved], [at for at in inserted if at not in moves]
        is_aligned = named is None and len(own) == len(other)
        pairs |= _objects(old, new, zip(own, other, strict=True)) if is_aligned else _similar(old, new, own, other)
    matched = moved.union(pairs.values())
    missing = [at for removed, _ in ranges for at in removed if at not in matched]
    moves |= _similar(old, new, missing, [at for at in range(len(new)) if at not in pairs and at not in moves])
    matched.update(moves.values())
    items = [(new.start, ChangedItem(at, None)) for old, new in ranges for at in old if at not in matched]
    items += [
        (at, ChangedItem(moves.get(at, pairs.get(at)), at, at in moves))
        for at, item in enumerate(new)
        if at not in pairs or not are_identical(old[pairs[at]], item)
    ]
    return [item for _, item in sorted(items, key=lambda entry: (entry[0], entry[1].new is not None))]


def _objects(old: Sequence[object], new: Sequence[object], pairs: Iterable[tuple[int, int]]) -> dict[int, int]:
    """Return those of some pairs of positions whose items are objects, by the new ones."""
    return {at: index for index, at in pairs if isinstance(old[index], Mapping) and isinstance(new[at], Mapping)}


def named_items(*sides: Sequence[object]) -> list[Named] | None:
    """Return the items of lists by their identity, or None if they have none.

    Different scalars have one, and objects that differ in the first possible one of `IDENTITY_KEYS`.
    """
    if not any(isinstance(item, Mapping | list) for side in sides for item in side):
        named = [{key_of(item): item for item in side} for side in sides]
        return named if list(map(len, named)) == list(map(len, sides)) else None  # type: ignore[return-value]
    for key in IDENTITY_KEYS:
        named = [
            {
                key_of(item[key]): item
                for item in side
                if isinstance(item, Mapping) and not isinstance(item.get(key), Mapping | list | None)
            }
            for side in sides
        ]
        if list(map(len, named)) == list(map(len, sides)):
            return named  # type: ignore[return-value]
    return None
