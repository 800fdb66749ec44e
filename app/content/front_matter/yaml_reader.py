"""Reader of one YAML document into values of JSON's types, in bounded time and memory.

It uses the events of libyaml: the composer overflows the stack on deep nesting and expands aliases without a limit.
Plain scalars follow the core schema of YAML 1.2 (`yes` and `12:30` are text), as in the site generators. Dates and
times keep their notation. A number with a leading zero (`02134`) is text, because YAML 1.1 and 1.2 read different
numbers.
"""

import re
from collections.abc import Iterator
from typing import Any

import yaml

from app.content.front_matter.values import ValueBudget, WrittenFloat, check_depth, plain_key, plain_scalar, plain_text

_STARTS = frozenset("0123456789+-.tTfFnN~")
_INT = re.compile(r"[-+]?(?:0|[1-9][0-9]*)|0o[0-7]+|0x[0-9a-fA-F]+")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|(?:0|[1-9][0-9]*)(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_CONSTANTS = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), None),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}
_RESOLVED_TAGS = frozenset(f"tag:yaml.org,2002:{name}" for name in ("null", "bool", "int", "float", "timestamp"))
_MERGE = "<<"
_MAX_PLAIN = 100  # characters of what may be a number


def read_yaml(text: str, *, has_notation: bool = False) -> Any:
    """Return the value of the only document in `text`, or None if it is empty.

    With `has_notation`, decimal numbers are `WrittenFloat`.

    Raises:
        ValueError: the text is not valid YAML.
        FrontMatterTooLarge: a limit is exceeded.
    """
    try:
        return _Reader(yaml.parse(text, Loader=yaml.CSafeLoader), has_notation).document()
    except yaml.YAMLError as fault:
        mark = getattr(fault, "problem_mark", None)
        where = f" in line {mark.line + 1}" if mark else ""
        raise ValueError(f"{getattr(fault, 'problem', None) or 'it cannot be read'}{where}") from fault


class _Reader:
    """Conversion of events to values. `_anchors` contains each named value with its size."""

    def __init__(self, events: Iterator[yaml.Event], has_notation: bool) -> None:
        self._events, self._has_notation = events, has_notation
        self._budget = ValueBudget()
        self._anchors: dict[str, tuple[object, int]] = {}

    def document(self) -> object:
        document = None
        for event in self._events:
            if isinstance(event, yaml.DocumentStartEvent):
                document = self._value(next(self._events), 0)
                next(self._events)
                break
        if any(isinstance(event, yaml.DocumentStartEvent) for event in self._events):
            raise ValueError("it contains more than one document")
        return document

    def _value(self, event: yaml.Event, depth: int) -> object:
        check_depth(depth)
        if isinstance(event, yaml.AliasEvent):
            return self._alias(event)
        before = self._budget.used
        self._budget.consume(1)
        if isinstance(event, yaml.ScalarEvent):
            value = self._scalar(event)
        elif isinstance(event, yaml.SequenceStartEvent):
            value = self._sequence(depth)
        else:
            value = self._mapping(depth)
        if anchor := getattr(event, "anchor", None):
            self._anchors[anchor] = value, self._budget.used - before
        return value

    def _alias(self, event: yaml.AliasEvent) -> object:
        if event.anchor not in self._anchors:
            raise ValueError(f"“*{event.anchor}” is an alias without an anchor before it")
        value, size = self._anchors[event.anchor]
        self._budget.consume(size)
        return value

    def _scalar(self, event: yaml.ScalarEvent) -> object:
        self._budget.consume(len(event.value))
        is_resolved = event.implicit[0] or event.tag in _RESOLVED_TAGS
        value = plain_scalar(resolve(event.value)) if is_resolved else plain_text(event.value)
        return WrittenFloat(event.value) if self._has_notation and isinstance(value, float) else value

    def _sequence(self, depth: int) -> list[object]:
        items = []
        while not isinstance(event := next(self._events), yaml.SequenceEndEvent):
            items.append(self._value(event, depth + 1))
        return items

    def _mapping(self, depth: int) -> dict[str, object]:
        own: dict[str, object] = {}
        merged: dict[str, object] = {}
        while not isinstance(event := next(self._events), yaml.MappingEndEvent):
            key = self._value(event, depth + 1)
            value = self._value(next(self._events), depth + 1)
            parts = value if isinstance(value, list) else [value]
            # A key in quotes is a text.
            is_plain = isinstance(event, yaml.ScalarEvent) and event.implicit[0]
            if key == _MERGE and is_plain and all(isinstance(part, dict) for part in parts):
                for part in reversed(parts):
                    merged |= part
            else:
                own[self._key(key)] = value
        return {**merged, **own} if merged else own

    def _key(self, key: object) -> str:
        if isinstance(key, dict | list):
            raise ValueError("a list or mapping cannot be a key")  # noqa: TRY004 - a fault of the file, not of a caller
        return plain_key(key, self._budget)


def resolve(text: str) -> str | int | float | bool | None:
    """Return the value of a plain scalar."""
    if (text and text[0] not in _STARTS) or len(text) > _MAX_PLAIN:
        return text
    if text in _CONSTANTS:
        return _CONSTANTS[text]
    if _INT.fullmatch(text):
        return int(text, 0) if text[:2] in ("0o", "0x") else int(text)
    if _FLOAT.fullmatch(text):
        return float(text)
    return text
