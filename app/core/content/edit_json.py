"""Changing single keys of a JSON object in its text."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from app.core.content.edits import CannotKeep, Edit

_SPACE = re.compile(r"[ \t\r\n]*")
_DECODER = json.JSONDecoder()


@dataclass(frozen=True)
class _Member:
    """A key with its value: from the key's quote to the value's end, and where the value begins."""

    name: str
    start: int
    value: int
    end: int


def edit_json(text: str, edit: Edit) -> str:
    """The text with the edit made; braces around the members may be missing. Raises CannotKeep."""
    try:
        for key in edit.unset:
            text = _Document(text, edit.newline).without(key)
        for key, value in edit.values.items():
            text = _Document(text, edit.newline).having(key, value)
    except (ValueError, IndexError, RecursionError) as fault:
        raise (
            fault if isinstance(fault, CannotKeep) else CannotKeep("The front matter is JSON not understood")
        ) from fault
    return text


def _members(text: str) -> Iterator[_Member]:
    """The members of the object, in order."""
    place = _skip(text, 0)
    if text[place : place + 1] == "{":
        place = _skip(text, place + 1)
    while text[place : place + 1] == '"':
        start = place
        name, place = _DECODER.raw_decode(text, place)
        place = _skip(text, place)
        if text[place] != ":":
            raise ValueError("no colon")
        value = _skip(text, place + 1)
        _, end = _DECODER.raw_decode(text, value)
        yield _Member(name, start, value, end)
        place = _skip(text, end)
        place = _skip(text, place + 1) if text[place : place + 1] == "," else place


def _skip(text: str, place: int) -> int:
    found = _SPACE.match(text, place)
    return found.end() if found else place


class _Document:
    """An object's text, changed the way its members are written."""

    def __init__(self, text: str, newline: str) -> None:
        self._text, self._members, self._newline = text, list(_members(text)), newline
        if len({member.name for member in self._members}) != len(self._members):
            raise CannotKeep("A key stands twice in the front matter")
        first = self._members[0].start if self._members else 0
        self._margin = text[text.rfind("\n", 0, first) + 1 : first] if "\n" in text[:first] else None
        self._is_ascii = text.isascii() and "\\u" in text

    def having(self, key: str, value: Any) -> str:
        """The text with a key set, behind the others where it is new."""
        text, told = self._text, self._written(value)
        member = next((each for each in self._members if each.name == key), None)
        if member is not None:
            return text[: member.value] + told + text[member.end :]
        if not self._members:
            raise CannotKeep("The front matter is an empty object")
        last = self._members[-1].end
        between = ", " if self._margin is None else f",{self._newline}{self._margin}"
        return f"{text[:last]}{between}{json.dumps(key, ensure_ascii=self._is_ascii)}: {told}{text[last:]}"

    def without(self, key: str) -> str:
        """The text without a key and the comma it needs no longer."""
        text, members = self._text, self._members
        place = next(number for number, member in enumerate(members) if member.name == key)
        if place + 1 < len(members):
            return text[: members[place].start] + text[members[place + 1].start :]
        if place == 0:
            raise CannotKeep("The front matter would be an empty object")
        return text[: members[place - 1].end] + text[members[place].end :]

    def _written(self, value: Any) -> str:
        """A value; lists and objects on lines of their own where members are."""
        if self._margin is None:
            return json.dumps(value, ensure_ascii=self._is_ascii)
        told = json.dumps(value, ensure_ascii=self._is_ascii, indent=self._margin or "  ")
        return told.replace("\n", self._newline + self._margin)
