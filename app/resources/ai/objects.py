"""JSON objects out of a text that is still coming, in a list, a line each, or fenced: each as soon as it is whole."""

import json
from typing import Any


class ObjectScanner:
    """Collects text until outermost objects are whole."""

    def __init__(self) -> None:
        self._depth = 0
        self._in_string = self._escaped = False
        self._taken: list[str] = []

    def feed(self, text: str) -> list[dict[str, Any]]:
        """The objects that this piece completes; what is no JSON after all is passed over."""
        found: list[dict[str, Any]] = []
        for character in text:
            if self._depth or character == "{":
                self._taken.append(character)
            if self._step(character):
                self._add(found)
        return found

    def _step(self, character: str) -> bool:
        """Whether this character ends an outermost object."""
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

    def _add(self, found: list[dict[str, Any]]) -> None:
        text, self._taken = "".join(self._taken), []
        try:
            value = json.loads(text)
        except ValueError:
            return
        found.append(value)
