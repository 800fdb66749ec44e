"""Edits of a JSON object in its text. Members and items that do not change keep their bytes."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from app.content.front_matter.edits import (
    Changed,
    KeyEdit,
    Piece,
    SeparatedItems,
    Span,
    UnsupportedEdit,
    apply_pieces,
    positions_of,
    values_equal,
)
from app.content.front_matter.item_diff import (
    Insertion,
    ItemChange,
    Removal,
    Step,
)

_SPACE = re.compile(r"[ \t\r\n]*")
_DECODER = json.JSONDecoder()


@dataclass(frozen=True)
class _Member:
    """Position of a member or item. `value` is the start of the value."""

    name: str
    start: int
    value: int
    end: int


def edit_json(text: str, edit: KeyEdit) -> str:
    """Return the text with the edit. The braces around the members are optional.

    Raises:
        UnsupportedEdit: a change cannot be made without other changes.
    """
    new = {key: value for key, value in edit.old.items() if key not in edit.unset} | dict(edit.values)
    try:
        editor = _Editor(text, edit.newline)
        return apply_pieces(text, editor.object(_skip(text, 0), edit.old, new))
    except UnsupportedEdit:
        raise
    except (ValueError, KeyError, IndexError, RecursionError) as error:
        raise UnsupportedEdit("The front matter is JSON with a notation that is not supported") from error


def json_remainder(text: str, changed: Changed) -> object:
    """Return the members that do not change, in their order."""
    members = _members(text, _skip(text, 0), is_object=True)
    return [text[member.start : member.end] for member in members if member.name not in changed]


def _skip(text: str, position: int) -> int:
    match = _SPACE.match(text, position)
    return match.end() if match else position


def _members(text: str, position: int, *, is_object: bool) -> list[_Member]:
    """Return the members of an object or the items of an array that starts at `position`."""
    if text[position : position + 1] in ("{", "["):
        position = _skip(text, position + 1)
    members: list[_Member] = []
    while position < len(text) and text[position] not in "}]":
        start, name = position, ""
        if is_object:
            name, position = _DECODER.raw_decode(text, position)
            position = _skip(text, position)
            if text[position] != ":":
                raise ValueError("no colon")
            position = _skip(text, position + 1)
        _, end = _DECODER.raw_decode(text, position)
        members.append(_Member(name, start, position, end))
        position = _skip(text, end)
        position = _skip(text, position + 1) if text[position : position + 1] == "," else position
    return members


class _Editor:
    """Replacements for changed values."""

    def __init__(self, text: str, newline: str) -> None:
        self._text, self._newline = text, newline
        self._is_ascii = text.isascii() and "\\u" in text
        indents = re.search(r"\n([ \t]+)\S", text)
        self._unit = indents[1] if indents else "  "

    def object(self, position: int, old: Mapping[str, object], new: Mapping[str, object]) -> list[Piece]:
        """ItemChange the members of the object at `position` that differ."""
        members = _members(self._text, position, is_object=True)
        names, keys = [member.name for member in members], list(new)
        if len(set(names)) != len(names):
            raise UnsupportedEdit("A key occurs twice in the front matter")
        old_positions, new_positions = positions_of(names), positions_of(keys)
        removed = [old_positions[key] for key in old if key not in new]
        if not members or len(removed) == len(members):
            raise UnsupportedEdit("The front matter is or would be an empty object")
        changed = [key for key in names if key in new and not values_equal(old[key], new[key])]
        steps: list[Step] = [ItemChange(old_positions[key], new_positions[key]) for key in changed]
        steps += map(Removal, removed)
        steps += [Insertion(len(names), index) for index, key in enumerate(keys) if key not in old]

        def change(step: ItemChange) -> list[Piece]:
            key = keys[step.new]
            return self._value(members[step.index], old[key], new[key])

        def write(index: int) -> str:
            name = json.dumps(keys[index], ensure_ascii=self._is_ascii)
            return f"{name}: {self._written(new[keys[index]], members[-1])}"

        return list(self._separated(members).pieces(steps, change, write))

    def _array(self, position: int, old: Sequence[Any], new: Sequence[Any]) -> list[Piece]:
        members = _members(self._text, position, is_object=False)

        def change(index: int, before: Any, value: Any) -> list[Piece]:
            return self._value(members[index], before, value)

        return list(
            self._separated(members).list_pieces(old, new, change, lambda value: self._written(value, members[-1]))
        )

    def _separated(self, members: Sequence[_Member]) -> SeparatedItems:
        spans = [Span(member.start, member.end) for member in members]
        return SeparatedItems(self._text, spans, self._newline, may_end_with_comma=False)

    def _value(self, member: _Member, old: Any, new: Any) -> list[Piece]:
        if isinstance(old, Mapping) and isinstance(new, Mapping) and old.keys() & new.keys():
            return self.object(member.value, old, new)
        if old and new and isinstance(old, list) and isinstance(new, list):
            return self._array(member.value, old, new)
        return [Piece(member.value, member.end, self._written(new, member))]

    def _written(self, value: Any, neighbour: _Member) -> str:
        """Return the text of a value. Lists and objects use several lines if the neighbour starts its line."""
        line = self._text.rfind("\n", 0, neighbour.start) + 1
        margin = self._text[line : neighbour.start]
        if not line or margin.strip():
            return json.dumps(value, ensure_ascii=self._is_ascii)
        written = json.dumps(value, ensure_ascii=self._is_ascii, indent=self._unit)
        return written.replace("\n", self._newline + margin)
