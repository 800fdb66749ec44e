"""Incremental search for JSON objects in a text, in a list, one per line or in a code fence."""

import json
from typing import Any


class JsonObjectScanner:
    """Buffer that returns complete outermost objects."""

    def __init__(self) -> None:
        self._depth = 0
        self._in_string = self._escaped = False
        self._buffer: list[str] = []

    def feed(self, text: str) -> list[dict[str, Any]]:
        """Return the objects that this piece completes. Text that is not JSON is ignored."""
        objects: list[dict[str, Any]] = []
        for character in text:
            if self._depth or character == "{":
                self._buffer.append(character)
            if self._step(character):
                self._add(objects)
        return objects

    def _step(self, character: str) -> bool:
        """Return whether this character ends an outermost object."""
        if self._in_string:
            if self._escaped:
                self._escaped = False
            elif character == "\\":
                self._escaped = True
            elif character == '"':
                self._in_string = False
        elif character == '"':
            self._in_string = self._depth > 0
        elif character == "{":
            self._depth += 1
        elif character == "}" and self._depth:
            self._depth -= 1
            return self._depth == 0
        return False

    def _add(self, objects: list[dict[str, Any]]) -> None:
        text, self._buffer = "".join(self._buffer), []
        try:
            value = json.loads(text)
        except (ValueError, RecursionError):
            return
        objects.append(value)
