"""Merge of two edits of front matter or of a data file by key: their values, and the text of the result."""

import json
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from operator import itemgetter
from typing import Any, NamedTuple, Protocol

from app.content.field_values import moment_of
from app.content.front_matter.edits import UnsupportedEdit, values_equal
from app.content.front_matter.item_diff import MISSING, Named, equal_share, named_items
from app.content.front_matter.values import WrittenDate
from app.content.front_matter.yaml_tree import Kind, Node, compose
from app.content.json_pointer import escaped
from app.content.sequence_diff import find_changes
from app.content.three_way import Choice, Part, Replacement, compare_items, split_lines, three_ranges

TIME_KEYS = frozenset(("lastmod", "updated", "updated_at", "modified", "date_modified"))
"""Keys that programs write with each change. The later value is used, if both can be read."""

_DATE = re.compile(r"\d{4}-\d\d-\d\d.*|\d\d:\d\d:\d\d.*")
_NUMBER = re.compile(r"[-+]?(?:\d{19,}|\.?inf|\.?nan|infinity)", re.IGNORECASE)
"""Numbers that a reader of JSON's types returns as text."""

_in_order = json.JSONEncoder().encode
_TAG = re.compile(r"[^\W\d][\w-]*")
_TERM = re.compile(r"[\w.+-]+")
_REFERENCE = re.compile(r"(?<![^\s\[{,])[&*!][^\s,\[\]{}]+|<<(?=\s*+:)")
"""Anchors, aliases, tags and merge keys of YAML."""


class ValueConflict(NamedTuple):
    """A value that both sides changed in different ways, at a JSON pointer. A missing value is `MISSING`."""

    pointer: str
    base: object
    mine: object
    theirs: object


@dataclass
class MergedValues:
    """The merged values. With conflicts they are not complete."""

    values: dict[str, object] = field(default_factory=dict)
    conflicts: list[ValueConflict] = field(default_factory=list)


def merge_values(
    base: Mapping[str, object],
    mine: Mapping[str, object],
    theirs: Mapping[str, object],
    choices: Sequence[Choice] = (),
) -> MergedValues:
    """Merge two edits of a mapping of JSON's types. Keys and items have the order of the side that changed it.

    The nth conflict has the value of the choice `choices[n]`.
    """
    merger = _Merger(choices)
    values = merger.value("", base, mine, theirs)
    return MergedValues(values if isinstance(values, dict) else {}, merger.conflicts)


class _Merger:
    def __init__(self, choices: Sequence[Choice]) -> None:
        self.conflicts: list[ValueConflict] = []
        self._choices = choices

    def value(self, pointer: str, base: Any, mine: Any, theirs: Any, *, is_time: bool = False) -> Any:
        """Return the merged value, or the choice of a conflict: `MISSING` without one."""
        if _same(mine, theirs) or _same(mine, base):
            return theirs
        if _same(theirs, base):
            return mine
        merged = _later(mine, theirs) if is_time else self._inside(pointer, base, mine, theirs)
        if merged is not None:
            return merged
        number = len(self.conflicts)
        self.conflicts.append(ValueConflict(pointer, base, mine, theirs))
        if number >= len(self._choices):
            return MISSING
        choice = self._choices[number]
        if isinstance(choice, Replacement):
            return choice.value
        return theirs if choice == "theirs" else mine

    def _inside(self, pointer: str, base: Any, mine: Any, theirs: Any) -> Any:
        """Merge the parts of mappings and lists. Return None if the value as a whole is a conflict."""
        start: Any = base if base is not MISSING else {} if isinstance(mine, Mapping) else []
        sides = start, mine, theirs
        if all(isinstance(side, Mapping) for side in sides):
            return self._named(pointer, sides, escaped)
        if not all(isinstance(side, list) for side in sides):
            return None
        named = named_items(*sides)
        if named is None:
            return self._aligned(pointer, *sides)
        if _is_rewritten(*named):
            return None
        indexes = [{name: str(index) for index, name in enumerate(side)} for side in named]
        base_at, mine_at, theirs_at = indexes
        merged = self._named(pointer, named, lambda name: theirs_at.get(name) or base_at.get(name) or mine_at[name])
        return None if merged is None else list(merged.values())

    def _named(self, pointer: str, sides: Sequence[Named], locate: Callable[[str], str]) -> dict[str, object] | None:
        """Merge values by name. Return None if both sides changed the order, in different ways."""
        order = _merged_order(*sides)
        if order is None:
            return None
        values = (
            (name, self.value(f"{pointer}/{locate(name)}", *versions, is_time=name in TIME_KEYS))
            for name in order
            for versions in [[side.get(name, MISSING) for side in sides]]
        )
        return {name: value for name, value in values if value is not MISSING}

    def _aligned(self, pointer: str, *sides: Sequence[object]) -> list[object] | None:
        """Merge lists whose items have no identity by their positions."""
        keys = [list(map(_in_order, side)) for side in sides]
        order = _shared_order(*keys)
        if order is None:
            return None
        changes = [find_changes(keys[0], side) for side in keys[1:]]
        parts = list(three_ranges(len(keys[0]), *changes, may_touch=True))
        merged = [
            _merged_part(*(side[at.start : at.stop] for side, at in zip(keys, part, strict=True))) for part in parts
        ]
        names = Counter(name for part in merged if isinstance(part, list) for name in part)
        if None in merged or names - (Counter(keys[1]) | Counter(keys[2])):  # Both sides moved an item to one position.
            return None
        shared, present = set(order), zip(parts, merged, strict=True)
        names_in_order = chain.from_iterable(
            part if isinstance(part, list) else keys[1][at[1].start : at[1].stop] for at, part in present
        )
        if [name for name in names_in_order if name in shared] != order:  # Both sides moved items.
            return None
        items = list[object]()
        for at, part in zip(parts, merged, strict=True):
            items += map(json.loads, part) if isinstance(part, list) else self._pairs(pointer, at, sides)
        return [item for item in items if item is not MISSING]

    def _pairs(self, pointer: str, part: Sequence[range], sides: Sequence[Sequence[object]]) -> list[object]:
        """Merge items of equal positions. One side can have more items."""
        base, mine, theirs = (side[at.start : at.stop] for side, at in zip(sides, part, strict=True))
        versions = enumerate(zip(base, mine, theirs, strict=False), part[2].start)
        merged = [self.value(f"{pointer}/{index}", *three) for index, three in versions]
        return [*merged, *mine[len(base) :], *theirs[len(base) :]]


def _merged_order(base: Named, mine: Named, theirs: Named) -> list[str] | None:
    """Return the names of both sides in one order, or None if they do not agree.

    This is the order of the side that moved names. Additions of both sides at one position are sorted.
    """
    positions = {name: index for index, name in enumerate(base)}
    order = _shared_order(base, mine, theirs)
    if order is None:
        return None
    after: dict[str | None, list[tuple[int, list[str]]]] = {None: [], **{name: [] for name in order}}
    following = dict(zip([None, *order], [*order, None], strict=True))
    for side, other in ((mine, theirs), (theirs, mine)):
        own_order = [name for name in side if name in after]
        own_following = dict(zip([None, *own_order], [*own_order, None], strict=True))
        removed = {name for name in base if name not in other and name in side and _same(side[name], base[name])}
        for (previous, position), added in _additions(side, set(order), removed, positions).items():
            is_inner = previous is not None and own_following[previous] is not None
            if is_inner and own_following[previous] != following[previous]:
                return None
            is_last = own_order and own_following[previous] is None
            after[order[-1] if is_last else previous].append((position, added))
    names = dict.fromkeys(
        name for first, runs in after.items() for name in [first, *chain.from_iterable(run[1] for run in sorted(runs))]
    )
    return [name for name in names if name is not None]


def _shared_order(base: Collection[str], mine: Collection[str], theirs: Collection[str]) -> list[str] | None:
    """Return the shared names in the order of the side that changed it, or None if both did in different ways."""
    shared, old = set(mine) & set(theirs), set(base)
    own, other = ([name for name in side if name in shared] for side in (mine, theirs))
    if own != other:  # An addition of both can have different positions. The first one is used.
        own, other = ([name for name in side if name in old] for side in (own, other))
    known = [name for name in base if name in shared]
    return other if own in (known, other) else own if other == known else None


def _additions(
    names: Iterable[str], shared: set[str], removed: set[str], positions: Mapping[str, int]
) -> dict[tuple[str | None, int], list[str]]:
    """Return the names that are not shared by the shared name before them, and by the position of the base before."""
    result, previous, position = dict[tuple[str | None, int], list[str]](), None, -1
    for name in names:
        position = positions.get(name, position)
        if name in shared:
            previous = name
        elif name not in removed:
            result.setdefault((previous, position), []).append(name)
    return result


def _same(value: object, other: object) -> bool:
    """Return whether two values are equal, with their keys in the same order."""
    if isinstance(value, Mapping) and isinstance(other, Mapping):
        return list(value) == list(other) and all(map(_same, value.values(), other.values()))
    if isinstance(value, list) and isinstance(other, list):
        return len(value) == len(other) and all(map(_same, value, other))
    return values_equal(value, other)


def _later(mine: object, theirs: object) -> object:
    """Return the later one of two times, or None if they cannot be compared or one is missing."""
    times = [_instant(side) for side in (mine, theirs)]
    if None in times:
        return None
    return max(zip(times, map(str, (mine, theirs)), (mine, theirs), strict=True), key=itemgetter(0, 1))[2]


def _instant(time: object) -> float | None:
    """Return a number, or the seconds since 1970 of a date. A time without a zone is UTC."""
    if isinstance(time, int | float) and not isinstance(time, bool):
        return float(time)
    moment = moment_of(time) if isinstance(time, str) else None
    if moment is None:
        return None
    day, zone = moment.toordinal() * 86_400, moment.utcoffset()
    seconds = moment.hour * 3_600 + moment.minute * 60 + moment.second + moment.microsecond / 1e6
    return day + seconds - (zone.total_seconds() if zone else 0)


def _is_rewritten(base: Named, mine: Named, theirs: Named) -> bool:
    """Return whether both sides replaced an item, unless all such items are words like tags."""
    removed = [item for name, item in base.items() if name not in mine and name not in theirs]
    own, other = ({name for name in side if name not in base} for side in (mine, theirs))
    return bool(own - other and other - own) and not all(
        isinstance(item, str) and _TAG.fullmatch(item) for item in removed
    )


def _merged_part(base: list[str], mine: list[str], theirs: list[str]) -> list[str] | bool | None:
    """Return the items of a part of lists, given as JSON, True if they are merged by pairs, or None for a conflict."""
    if mine in (base, theirs):
        return theirs
    if theirs == base:
        return mine
    if not base and all(item.startswith("{") for item in mine + theirs):
        return mine + theirs if mine < theirs else theirs + mine
    is_aligned = len(base) == min(len(mine), len(theirs))
    return True if is_aligned and _are_edits(base, mine) and _are_edits(base, theirs) else None


def _are_edits(base: Sequence[str], side: Sequence[str]) -> bool:
    """Return whether a side changed items in their positions, given as their texts, and each object only partly."""
    changes = find_changes(base, side[: len(base)])
    return all(change.end - change.start == change.new_end - change.new_start for change in changes) and all(
        equal_share(json.loads(old), json.loads(new)) >= 0.5 for old, new in zip(base, side, strict=False) if old != new
    )


class ValueText(Protocol):
    """The notation of values in a text: how it is read and edited."""

    language: str

    def read(self, text: str) -> Mapping[str, object] | None:
        """Return the values of a text, or None if it cannot be read or has a key twice."""

    def edit(self, text: str, changes: Mapping[str, object], unset: Sequence[str]) -> str:
        """Return the text with changed keys. Raises UnsupportedEdit."""


def merge_text(
    notation: ValueText, expected: Mapping[str, object], texts: Sequence[str], values: Sequence[Mapping[str, object]]
) -> str | list[Part]:
    """Return a text with the expected values, or the parts of a comparison by line if none keeps both texts.

    `values` are those of the base, of mine and of theirs. The lines of both sides are used if they have the expected
    values. Else the changed values of one side are written into the text of the other one: in the direction that keeps
    more of the new lines. A comment or an alias of a side must be in the result.
    """
    has_moves = any(_moves_keys(values[0], side) for side in values[1:])
    old, *sides = (set(split_lines(text)) for text in texts)
    new, best = set().union(*sides) - old, list[tuple[int, bool, str]]()
    for text in _candidates(notation, expected, texts, values):
        present = notation.read(text)
        if present is None or not values_equal(present, expected):
            continue
        is_moved, missing = not _same(present, expected), len(new.difference(split_lines(text)))
        if not (is_moved and has_moves):  # Else only new keys have another position.
            best.append((missing, is_moved, text))
        if not missing and not is_moved:
            break
    return min(best)[2] if best else compare_items(*map(split_lines, texts))


def _candidates(
    notation: ValueText, expected: Mapping[str, object], texts: Sequence[str], values: Sequence[Mapping[str, object]]
) -> Iterator[str]:
    """Yield possible results, those of complete lines first."""
    yield from sorted(_merged_lines(texts))
    for source, target, present in ((texts[2], texts[1], values[1]), (texts[1], texts[2], values[2])):
        changes = {
            key: value for key, value in expected.items() if key not in present or not values_equal(present[key], value)
        }
        unset = [key for key in present if key not in expected]
        text = _edited(notation, texts[0], source, target, changes, unset)
        if text is not None:
            yield text


def _merged_lines(texts: Sequence[str]) -> set[str]:
    """Return the lines of both sides, with additions at one position in both orders."""
    parts = compare_items(*map(split_lines, texts), separates_neighbours=True)
    if any(part.is_conflict and part.base for part in parts):
        return set()
    orders = ((part.mine + part.theirs, part.theirs + part.mine) for part in parts)
    pairs = [(part.merged,) * 2 if part.merged is not None else both for part, both in zip(parts, orders, strict=True)]
    return {"".join(order) for order in zip(*pairs, strict=True)}


def _moves_keys(base: object, side: object) -> bool:
    """Return whether a side has the keys of a mapping in another order."""
    if isinstance(base, Mapping) and isinstance(side, Mapping):
        shared = [key for key in base if key in side]
        has_moves = shared != [key for key in side if key in base]
        return has_moves or any(_moves_keys(base[key], side[key]) for key in shared)
    return isinstance(base, list) and isinstance(side, list) and any(map(_moves_keys, base, side))


def _edited(
    notation: ValueText, base: str, source: str, target: str, changes: Mapping[str, object], unset: Sequence[str]
) -> str | None:
    """Return the target with changed keys, or None if this would lose a comment or a notation of a side."""
    changes = {key: _with_dates(value, source) for key, value in changes.items()}
    if _has_number_as_text(changes, source):
        return None
    try:
        edited = notation.edit(target, changes, unset)
    except UnsupportedEdit:
        return None
    if not _terms(edited) <= _terms(base) | _terms(source) | _terms(target):  # For example, 1.10 would become 1.1.
        return None
    if notation.language == "json":
        return edited
    required = _new_comments(base, source) + _new_comments(base, target)
    if notation.language == "yaml":
        required += _new_references(base, source) + _new_references(base, target)
    return edited if all(text in edited for text in required) else None


def _terms(text: str) -> set[str]:
    return {term for term in _TERM.findall(text) if not term.isalpha()}


def _with_dates(value: Any, source: str) -> Any:
    """Return a value in which dates that the source has without quotes are written without them."""
    if isinstance(value, Mapping):
        return {key: _with_dates(inner, source) for key, inner in value.items()}
    if isinstance(value, list):
        return [_with_dates(inner, source) for inner in value]
    is_date = isinstance(value, str) and _DATE.fullmatch(value)
    return WrittenDate(value) if is_date and not _is_quoted(value, source) else value


def _is_quoted(text: str, source: str) -> bool:
    return f'"{text}"' in source or f"'{text}'" in source


def _has_number_as_text(value: Any, source: str) -> bool:
    if isinstance(value, Mapping | list):
        return any(
            _has_number_as_text(item, source) for item in (value.values() if isinstance(value, Mapping) else value)
        )
    return isinstance(value, str) and bool(_NUMBER.fullmatch(value)) and not _is_quoted(value, source)


def _new_comments(base: str, side: str) -> list[str]:
    """Return the comments in the new lines of a side. A `#` in a value counts as one."""
    lines = set(split_lines(base))
    new = [line.strip() for line in split_lines(side) if "#" in line and line not in lines]
    starts = ((line, 0 if line.startswith("#") else line.find(" #") + 1) for line in new)
    return [line[at:] for line, at in starts if at or line.startswith("#")]


def _new_references(base: str, side: str) -> list[str]:
    """Return the anchors, aliases, tags and merge keys in the new lines of a side of YAML."""
    lines = set(split_lines(base))
    return [text for line in split_lines(side) if line not in lines for text in _REFERENCE.findall(line)]


def has_repeated_key(language: str, text: str) -> bool:
    """Return whether a mapping of a valid text has a key twice. Programs read different values from such a text."""
    if language == "yaml":
        root = compose(text, requires_mapping=False)
        return root is not None and _repeats_key(text, root)
    if language != "json":
        return False  # TOML does not permit it.
    repeated = []

    def check(pairs: list[tuple[str, object]]) -> dict[str, object]:
        members = dict(pairs)
        repeated.extend([True] * (len(members) != len(pairs)))
        return members

    stripped = text.strip()
    json.JSONDecoder(object_pairs_hook=check).decode(stripped if stripped[:1] in ("{", "[") else f"{{{stripped}}}")
    return bool(repeated)


def _repeats_key(text: str, node: Node) -> bool:
    if node.kind is Kind.MAPPING:
        names = [key.text if key.kind is Kind.SCALAR else text[key.start : key.end] for key, _ in node.pairs]
        if len(set(names)) != len(names):
            return True
    return any(_repeats_key(text, child) for child in node.children)
