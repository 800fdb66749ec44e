"""Incremental parsers of the text of a model: JSON objects, and code fences around a file."""

import json
import re

_FENCE = re.compile(r"(`{3,}|~{3,})[^\n`]*")


class JsonObjectScanner:
    """Buffer that returns complete outermost objects."""

    def __init__(self) -> None:
        self._depth = 0
        self._in_string = self._escaped = False
        self._buffer: list[str] = []

    def feed(self, text: str) -> list[dict[str, object]]:
        """Return the objects that this piece completes. Text that is not JSON is ignored."""
        objects: list[dict[str, object]] = []
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

    def _add(self, objects: list[dict[str, object]]) -> None:
        text, self._buffer = "".join(self._buffer), []
        try:
            value = json.loads(text)
        except (ValueError, RecursionError):
            return
        objects.append(value)


class FenceStripper:
    """Filter of one reply. The results of `feed` and `end`, joined, are the new text."""

    def __init__(self, old: str) -> None:
        self._crlf = "\r\n" in old and "\n" not in old.replace("\r\n", "")
        self._ends_with_newline = old.endswith("\n")
        # Do not strip a fence if the old text starts with one.
        self._may_be_fenced = _FENCE.match(old.lstrip()) is None
        self._fence: str | None = None
        self._begun = False
        self._buffer = ""
        self._parts: list[str] = []

    @property
    def text(self) -> str:
        """Return the text so far."""
        return "".join(self._parts)

    def feed(self, piece: str) -> str:
        """Return the next part of the text. A last line that may be a fence is delayed."""
        self._buffer += piece
        if not self._begun and not self._begin(final=False):
            return ""
        # The last line and the empty lines before it may be the closing fence or the end.
        cut = len(self._buffer[: self._buffer.rfind("\n") + 1].rstrip("\r\n"))
        above, _, last = self._buffer[:cut].rpartition("\n")
        if self._fence is not None and last.strip() == self._fence:
            cut = len(above.rstrip("\r\n"))
        ready, self._buffer = self._buffer[:cut], self._buffer[cut:]
        return self._emit(ready)

    def end(self) -> str:
        """Return the remaining text."""
        if not self._begun:
            self._begin(final=True)
        remaining = self._buffer
        if self._fence is not None:
            body, _, last = remaining.rstrip().rpartition("\n")
            if last.strip() == self._fence:
                remaining = body
        remaining = remaining.rstrip("\r\n")
        if self._ends_with_newline and (remaining or self._parts):
            remaining += "\n"
        return self._emit(remaining)

    def _begin(self, *, final: bool) -> bool:
        """Remove an opening fence from the first line."""
        line, end, following = self._buffer.partition("\n")
        if not end and not final and self._may_be_fenced:
            return not line.lstrip().startswith(("`", "~")) and bool(line.strip()) and self._start()
        if self._may_be_fenced and (match := _FENCE.fullmatch(line.strip())):
            self._fence, self._buffer = match[1], following
        return self._start()

    def _start(self) -> bool:
        self._begun = True
        return True

    def _emit(self, text: str) -> str:
        plain = text.replace("\r\n", "\n")
        output = plain.replace("\n", "\r\n") if self._crlf else plain
        if output:
            self._parts.append(output)
        return output
