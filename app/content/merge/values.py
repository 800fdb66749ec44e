"""Merge of two edits of front matter or of a data file by key: their values, and the text of the result."""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Final, NamedTuple, Protocol

from app.content.field_values import moment_of
from app.content.front_matter.edits import UnsupportedEdit, values_equal
from app.content.front_matter.item_diff import key_of
from app.content.front_matter.values import WrittenDate
from app.content.front_matter.yaml_tree import Kind, Node, compose
from app.content.three_way import Choice, Part, Replacement, compare_items, split_lines


class Absence(Enum):
    """The type of `MISSING`, the value of a key that a version does not have."""

    MISSING = "missing"


MISSING: Final = Absence.MISSING
TIME_KEYS = frozenset(("lastmod", "updated", "updated_at", "modified", "date_modified"))
"""Keys that programs write with each change. The later value is used."""

IDENTITY_KEYS = ("id", "slug", "name")
"""Keys by which the objects of a list are matched. The first one that is unique in all versions is used."""

_DATE = re.compile(r"\d{4}-\d\d-\d\d.*|\d\d:\d\d:\d\d.*")
_NUMBER = re.compile(r"[-+]?(?:\d{19,}|\.?inf|\.?nan|infinity)", re.IGNORECASE)
"""Numbers that a reader of JSON's types returns as text."""

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
    """Merge two edits of a mapping of JSON's types. The key order is that of theirs, then additions of mine.

    The nth conflict has the value of the choice `choices[n]`.
    """
    merger = _Merger(choices)
    values = merger.mapping("", base, mine, theirs)
    return MergedValues(values, merger.conflicts)


class _Merger:
    def __init__(self, choices: Sequence[Choice]) -> None:
        self.conflicts: list[ValueConflict] = []
        self._choices = choices

    def mapping(
        self, pointer: str, base: Mapping[str, object], mine: Mapping[str, object], theirs: Mapping[str, object]
    ) -> dict[str, object]:
        merged = dict[str, object]()
        for key in [*theirs, *(key for key in mine if key not in theirs)]:
            sides = (side.get(key, MISSING) for side in (base, mine, theirs))
            escaped = key.replace("~", "~0").replace("/", "~1")
            value = self._value(f"{pointer}/{escaped}", *sides, is_time=key in TIME_KEYS)
            if value is not MISSING:
                merged[key] = value
        return merged

    def _value(self, pointer: str, base: Any, mine: Any, theirs: Any, *, is_time: bool = False) -> Any:
        if _equal(mine, theirs) or _equal(mine, base):
            return theirs
        if _equal(theirs, base):
            return mine
        if is_time:
            return _later(mine, theirs)
        start: Any = base if base is not MISSING else {} if isinstance(mine, Mapping) else []
        if all(isinstance(side, Mapping) for side in (start, mine, theirs)):
            return self.mapping(pointer, start, mine, theirs)
        if all(isinstance(side, list) for side in (start, mine, theirs)):
            if all(_are_distinct_scalars(side) for side in (start, mine, theirs)):
                return _merged_set(start, mine, theirs)
            if key := _identity_key(start, mine, theirs):
                return self._objects(pointer, key, start, mine, theirs)
        number = len(self.conflicts)
        self.conflicts.append(ValueConflict(pointer, base, mine, theirs))
        if number >= len(self._choices):
            return MISSING
        choice = self._choices[number]
        if isinstance(choice, Replacement):
            return choice.value
        return theirs if choice == "theirs" else mine

    def _objects(self, pointer: str, key: str, *sides: Sequence[Mapping[str, object]]) -> list[object]:
        """Merge lists of objects by identity: in the order of mine, then additions of theirs."""
        base, mine, theirs = ({key_of(item[key]): item for item in side} for side in sides)
        indexes = [{name: str(index) for index, name in enumerate(side)} for side in (base, mine, theirs)]
        merged = []
        for name in [*mine, *(name for name in theirs if name not in mine)]:
            index = indexes[2].get(name) or indexes[0].get(name) or indexes[1][name]
            item = self._value(f"{pointer}/{index}", *(side.get(name, MISSING) for side in (base, mine, theirs)))
            if item is not MISSING:
                merged.append(item)
        return merged


def _equal(one: object, other: object) -> bool:
    return one is other if MISSING in (one, other) else values_equal(one, other)


def _later(mine: object, theirs: object) -> object:
    """Return the later one of two times, the present one if one is missing, or mine if they cannot be compared."""
    if mine is MISSING or theirs is MISSING:
        return theirs if mine is MISSING else mine
    if isinstance(mine, str) and isinstance(theirs, str):
        moments = moment_of(mine), moment_of(theirs)
        return theirs if None not in moments and _instant(moments[1]) > _instant(moments[0]) else mine
    if all(isinstance(side, int | float) and not isinstance(side, bool) for side in (mine, theirs)):
        return theirs if theirs > mine else mine  # type: ignore[operator]
    return mine


def _instant(moment: Any) -> float:
    """Return the seconds since 1970. A time without a zone is UTC."""
    day, zone = moment.toordinal() * 86_400, moment.utcoffset()
    seconds: float = moment.hour * 3_600 + moment.minute * 60 + moment.second + moment.microsecond / 1e6
    return float(day + seconds - (zone.total_seconds() if zone else 0))


def _are_distinct_scalars(items: Sequence[object]) -> bool:
    keys = {key_of(item) for item in items if not isinstance(item, Mapping | list)}
    return len(keys) == len(items)


def _merged_set(base: Sequence[object], mine: Sequence[object], theirs: Sequence[object]) -> list[object]:
    old, own, other = ({key_of(item) for item in side} for side in (base, mine, theirs))
    known = old | own
    remaining = [item for item in mine if key_of(item) not in old or key_of(item) in other]
    return remaining + [item for item in theirs if key_of(item) not in known]


def _identity_key(*sides: Sequence[object]) -> str | None:
    """Return the first key that identifies the objects of all lists."""
    for key in IDENTITY_KEYS:
        values = [[item.get(key) for item in side if isinstance(item, Mapping)] for side in sides]
        if all(
            len(names) == len(side)
            and not any(name is None or isinstance(name, Mapping | list) for name in names)
            and len({key_of(name) for name in names}) == len(names)
            for names, side in zip(values, sides, strict=True)
        ):
            return key
    return None


class ValueText(Protocol):
    """The notation of values in a text: how it is read and edited."""

    language: str

    def read(self, text: str) -> Mapping[str, object] | None:
        """Return the values of a text, or None if it cannot be read or has a key twice."""

    def edit(self, text: str, changes: Mapping[str, object], unset: Sequence[str]) -> str:
        """Return the text with changed keys. Raises UnsupportedEdit."""


def merge_text(
    notation: ValueText, expected: Mapping[str, object], base: str, mine: str, theirs: str
) -> str | list[Part]:
    """Return a text with the expected values, or the parts of a comparison by line if none keeps both texts.

    The lines of both sides are used if they have these values. Else the changed values of one side are written into the
    text of the other one. A comment or an alias of a side must be in the result. If no text has the order of the merged
    lists, the order of the lines is used.
    """
    by_line = _merged_lines(base, mine, theirs)
    candidates: list[Callable[[], str | None]] = [
        lambda: by_line,
        lambda: _merged_lines(base, theirs, mine),  # Additions of mine to a list are first.
        lambda: _edited(notation, expected, base, mine, theirs),
        lambda: _edited(notation, expected, base, theirs, mine),
    ]
    for candidate in candidates:
        text = candidate()
        values = notation.read(text) if text is not None else None
        if text is not None and values is not None and values_equal(values, expected):
            return text
    values = notation.read(by_line) if by_line is not None else None
    if by_line is not None and values is not None and values_equal(_in_one_order(values), _in_one_order(expected)):
        return by_line
    return compare_items(*map(split_lines, (base, mine, theirs)))


def _merged_lines(base: str, mine: str, theirs: str) -> str | None:
    parts = compare_items(*map(split_lines, (base, mine, theirs)), separates_neighbours=True)
    return None if any(part.is_conflict for part in parts) else "".join(part.merged or "" for part in parts)


def _in_one_order(value: Any) -> Any:
    """Return a value in which the lists that are merged as sets have the order of their keys."""
    if isinstance(value, Mapping):
        return {key: _in_one_order(inner) for key, inner in value.items()}
    if not isinstance(value, list):
        return value
    if _are_distinct_scalars(value):
        return sorted(value, key=key_of)
    key, items = _identity_key(value), [_in_one_order(item) for item in value]
    return sorted(items, key=lambda item: key_of(item[key])) if key else items


def _edited(notation: ValueText, expected: Mapping[str, object], base: str, source: str, target: str) -> str | None:
    """Return the target with the expected values, or None if this would lose a comment or a notation of a side."""
    present = notation.read(target) or {}
    changes = {
        key: _with_dates(value, source)
        for key, value in expected.items()
        if key not in present or not values_equal(present[key], value)
    }
    if _has_number_as_text(changes, source):
        return None
    try:
        edited = notation.edit(target, changes, [key for key in present if key not in expected])
    except UnsupportedEdit:
        return None
    if notation.language == "json":
        return edited
    required = _new_comments(base, source) + _new_comments(base, target)
    if notation.language == "yaml":
        required += _new_references(base, source) + _new_references(base, target)
    return edited if all(text in edited for text in required) else None


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
            _has_number_as_text(each, source) for each in (value.values() if isinstance(value, Mapping) else value)
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
        root = compose(text)
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
