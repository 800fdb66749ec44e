"""Regular expressions of schema files. They are written for JavaScript, and RE2 compares them in linear time."""

import re
from collections.abc import Callable
from functools import lru_cache

import re2

MAX_MEMORY, MAX_CACHED, UNITS_PER_COUNT = 128 * 1024, 512, 256
_NO_LINE_END = r"[^\n\r\x{2028}\x{2029}]"
_SPACES = r"\s\v\x{feff}\pZ"
_EMPTY, _NOT_EMPTY = r"[^\x00-\x{10ffff}]", r"[\x00-\x{10ffff}]"
_ESCAPES = {"s": f"[{_SPACES}]", "S": f"[^{_SPACES}]"}
# In a class, `\S` also contains the spaces outside of ASCII.
_CLASS_ESCAPES = {"s": _SPACES, "b": r"\x08"}
_OTHER_MEANING = frozenset("aApPzCQE")
"""Escaped letters that are plain letters in JavaScript."""

# The halves of a pair of surrogates are no characters of RE2, so their escapes are refused.
_ESCAPE = r"\\(u(?![dD][89a-fA-F])[0-9a-fA-F]{4}|.)"
_PART = re.compile(r"\[(\^?)((?:\\.|[^\]\\])*+)(\]?)|\.|\(\?(?![:<=!])|" + _ESCAPE, re.DOTALL)
_CLASS_PART = re.compile(r"\[|" + _ESCAPE, re.DOTALL)


class UnsupportedPattern(ValueError):
    """An expression that is invalid, too large, or outside of the syntax that JavaScript and RE2 share."""


class TextPattern:
    """A compiled expression. `size` is the number of instructions of its program."""

    def __init__(self, expression: str) -> None:
        options = re2.Options()
        options.max_mem, options.never_capture, options.log_errors = MAX_MEMORY, True, False
        try:
            translated = _PART.sub(_part, expression).encode(errors="surrogatepass")
            self._regexp = re2.compile(translated, options)  # type: ignore[no-untyped-call]
        except re2.error as error:
            raise UnsupportedPattern(error.args[0].decode(errors="replace")) from error
        self.size: int = self._regexp.programsize

    def matches(self, text: str, count: Callable[[int], None]) -> bool:
        """Return whether a part of a text matches. `count` is called before with the largest possible effort."""
        data = text.encode(errors="surrogatepass")
        count(1 + self.size * len(data) // UNITS_PER_COUNT)
        return self._regexp.search(data) is not None


text_pattern = lru_cache(maxsize=MAX_CACHED)(TextPattern)
"""Return a compiled expression. Raises UnsupportedPattern."""


def _part(match: re.Match[str]) -> str:
    """Return a class, an escape or a point of JavaScript in the notation of RE2."""
    if match[0] == "(?":
        raise UnsupportedPattern("invalid perl operator: (?")
    if match[0] == ".":
        return _NO_LINE_END
    negation, characters, end, escaped = match.groups()
    if escaped is not None:
        return _escape(escaped, _ESCAPES)
    if not characters and end:
        return _NOT_EMPTY if negation else _EMPTY
    return f"[{negation}{_CLASS_PART.sub(_class_part, characters)}{end}"


def _class_part(match: re.Match[str]) -> str:
    return r"\[" if match[1] is None else _escape(match[1], _CLASS_ESCAPES)


def _escape(escaped: str, special: dict[str, str]) -> str:
    if escaped in _OTHER_MEANING:
        raise UnsupportedPattern(f"invalid escape sequence: \\{escaped}")
    return f"\\x{{{escaped[1:]}}}" if len(escaped) > 1 else special.get(escaped, "\\" + escaped)
