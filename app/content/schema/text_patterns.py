"""Regular expressions of schema files, compared with texts in bounded time.

Schema files contain expressions of JavaScript. A subset is supported: texts, classes, groups, alternatives,
repetitions, and `^` and `$` around an alternative of the whole expression. A text is compared in one pass with all
positions of the expression, so that no expression takes exponential time.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

MAX_POSITIONS, MAX_PARTS, MAX_GROUPS = 300, 2_000, 50
_RANGES = {
    "d": (("0", "9"),),
    "w": (("0", "9"), ("A", "Z"), ("_", "_"), ("a", "z")),
    "s": (
        ("\t", "\r"),
        (" ", " "),
        ("\u00a0", "\u00a0"),
        ("\u2000", "\u200a"),
        ("\u2028", "\u2029"),
        ("\ufeff", "\ufeff"),
    ),
}
_LINE_ENDS = (("\n", "\n"), ("\r", "\r"), ("\u2028", "\u2029"))
_CONTROLS = {"n": "\n", "t": "\t", "r": "\r", "f": "\f", "v": "\v", "0": "\0"}
_REPETITION = re.compile(r"\{(\d{1,3})(,(\d{0,3}))?\}")
_CODE = re.compile(r"x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})")

Ranges = tuple[tuple[str, str], ...]


class UnsupportedPattern(ValueError):
    """An expression that is invalid, too large, or outside of the supported subset."""


@dataclass(frozen=True)
class _Class:
    """The characters that a position accepts: those in `ranges`, and those outside of one of `complements`."""

    ranges: Ranges = ()
    complements: tuple[Ranges, ...] = ()
    is_negated: bool = False

    def has(self, character: str) -> bool:
        """Return whether a character is in the class."""
        is_inside = _is_in(self.ranges, character) or any(not _is_in(one, character) for one in self.complements)
        return is_inside is not self.is_negated


def _is_in(ranges: Ranges, character: str) -> bool:
    return any(first <= character <= last for first, last in ranges)


@dataclass(frozen=True)
class _Sequence:
    parts: tuple["_Node", ...] = ()


@dataclass(frozen=True)
class _Choice:
    parts: tuple["_Node", ...]


@dataclass(frozen=True)
class _Repetition:
    part: "_Node"
    minimum: int
    maximum: int | None


@dataclass(frozen=True)
class _Loop:
    part: "_Node"
    is_optional: bool


_Node = _Class | _Sequence | _Choice | _Repetition | _Loop
_ANYTHING = _Repetition(_Class(is_negated=True), 0, None)


@lru_cache(maxsize=256)
def text_pattern(expression: str) -> "TextPattern":
    """Return a compiled expression. Raises UnsupportedPattern."""
    return TextPattern(_Parser(expression).read())


class TextPattern:
    """The positions of an expression as bits of integers, with those that can follow each.

    `parts` is the number of its parts with all repetitions.
    """

    def __init__(self, node: _Node) -> None:
        self._classes: list[_Class] = []
        self._following: list[int] = []
        self.parts = 0
        self._is_optional, self._first, self._last = self._add(node)

    def matches(self, text: str, count: Callable[[int], None]) -> bool:
        """Return whether a text matches. `count` is called with the number of compared positions."""
        if not text:
            return self._is_optional
        steps: dict[tuple[int, str], tuple[int, int]] = {}
        accepted, possible = 0, self._first
        for character in text:
            step = steps.get((possible, character))
            if step is None:
                count(1 + possible.bit_count())
                step = steps[possible, character] = self._step(possible, character)
            accepted, possible = step
            if not accepted:
                return False
        return bool(accepted & self._last)

    def _step(self, possible: int, character: str) -> tuple[int, int]:
        """Return the positions that accept a character, and those that can follow them."""
        accepted = following = 0
        for number in _bits(possible):
            if self._classes[number].has(character):
                accepted |= 1 << number
                following |= self._following[number]
        return accepted, following

    def _add(self, node: _Node) -> tuple[bool, int, int]:
        """Add the positions of a part. Return whether it can be empty, and its first and last positions."""
        self.parts += 1
        if self.parts > MAX_PARTS or len(self._classes) >= MAX_POSITIONS:
            raise UnsupportedPattern("It is too large")
        match node:
            case _Class():
                self._classes.append(node)
                self._following.append(0)
                position = 1 << len(self._classes) - 1
                return False, position, position
            case _Sequence():
                return self._add_sequence(node.parts)
            case _Choice():
                parts = [self._add(part) for part in node.parts]
                first = last = 0
                for _, starts, ends in parts:
                    first, last = first | starts, last | ends
                return any(is_optional for is_optional, _, _ in parts), first, last
            case _Repetition(part, minimum, maximum):
                if maximum is None:
                    return self._add_sequence((*[part] * (minimum - 1), _Loop(part, is_optional=minimum == 0)))
                optional = _Choice((part, _Sequence()))
                return self._add_sequence((*[part] * minimum, *[optional] * (maximum - minimum)))
            case _Loop():
                is_optional, first, last = self._add(node.part)
                self._connect(last, first)
                return is_optional or node.is_optional, first, last

    def _add_sequence(self, parts: tuple["_Node", ...]) -> tuple[bool, int, int]:
        is_optional, first, last = True, 0, 0
        for part in parts:
            can_be_empty, starts, ends = self._add(part)
            self._connect(last, starts)
            first |= starts if is_optional else 0
            last = ends | last if can_be_empty else ends
            is_optional = is_optional and can_be_empty
        return is_optional, first, last

    def _connect(self, last: int, first: int) -> None:
        for number in _bits(last):
            self._following[number] |= first


def _bits(mask: int) -> list[int]:
    numbers = []
    while mask:
        lowest = mask & -mask
        numbers.append(lowest.bit_length() - 1)
        mask ^= lowest
    return numbers


class _Parser:
    """Parser of one expression."""

    def __init__(self, expression: str) -> None:
        self._text, self._at, self._groups = expression, 0, 0

    def read(self) -> _Node:
        """Return the expression. It matches a part of a text, unless it has anchors. Raises UnsupportedPattern."""
        node = self._choice(is_whole=True)
        if self._at < len(self._text):
            raise UnsupportedPattern("A group is not open")
        return node

    def _next(self, length: int = 1) -> str:
        return self._text[self._at : self._at + length]

    def _take(self, text: str) -> bool:
        is_next = self._text.startswith(text, self._at)
        self._at += len(text) if is_next else 0
        return is_next

    def _choice(self, *, is_whole: bool = False) -> _Node:
        parts = [self._sequence(is_whole=is_whole)]
        while self._take("|"):
            parts.append(self._sequence(is_whole=is_whole))
        return parts[0] if len(parts) == 1 else _Choice(tuple(parts))

    def _sequence(self, *, is_whole: bool) -> _Node:
        parts: list[_Node] = []
        if is_whole and not self._take("^"):
            parts.append(_ANYTHING)
        has_end = False
        while self._next() not in ("", "|", ")") and not has_end:
            has_end = is_whole and self._next() == "$" and self._next(2) in ("$", "$|") and self._take("$")
            if not has_end:
                parts.append(self._repeated(self._part()))
        if is_whole and not has_end:
            parts.append(_ANYTHING)
        return _Sequence(tuple(parts))

    def _part(self) -> _Node:
        character = self._next()
        if character in ("*", "+", "?"):
            raise UnsupportedPattern("A repetition has no part")
        if character in ("^", "$"):
            raise UnsupportedPattern(f"“{character}” is supported around the whole expression only")
        self._at += 1
        if character == "(":
            return self._group()
        if character == "[":
            return self._class()
        if character == "\\":
            return self._escaped()
        return _Class(_LINE_ENDS, is_negated=True) if character == "." else _Class(((character, character),))

    def _group(self) -> _Node:
        if not self._take("?:") and self._next() == "?":
            raise UnsupportedPattern("Assertions and named groups are not supported")
        self._groups += 1
        if self._groups > MAX_GROUPS:
            raise UnsupportedPattern("It is too large")
        node = self._choice()
        if not self._take(")"):
            raise UnsupportedPattern("A group is not closed")
        return node

    def _repeated(self, node: _Node) -> _Node:
        counts = _REPETITION.match(self._text, self._at)
        if counts is not None:
            self._at = counts.end()
            minimum = int(counts[1])
            maximum = minimum if counts[2] is None else int(counts[3]) if counts[3] else None
        elif self._next() in ("*", "+", "?") and self._next():
            minimum, maximum = {"*": (0, None), "+": (1, None), "?": (0, 1)}[self._next()]
            self._at += 1
        else:
            return node
        self._take("?")
        if self._next() in ("*", "+", "?") and self._next():
            raise UnsupportedPattern("A repetition has no part")
        if maximum is not None and maximum < minimum:
            raise UnsupportedPattern("The limits of a repetition are reversed")
        return _Repetition(node, minimum, maximum)

    def _escaped(self) -> _Class:
        code = _CODE.match(self._text, self._at)
        if code is not None:
            self._at = code.end()
            character = chr(int(code[1] or code[2], 16))
            return _Class(((character, character),))
        character = self._next()
        self._at += 1
        if character.lower() in _RANGES and character:
            ranges = _RANGES[character.lower()]
            return _Class(ranges) if character.islower() else _Class(complements=(ranges,))
        if character in _CONTROLS:
            return _Class(((_CONTROLS[character], _CONTROLS[character]),))
        if not character or character.isalnum():
            raise UnsupportedPattern(f"“\\{character}” is not supported")
        return _Class(((character, character),))

    def _class(self) -> _Class:
        is_negated = self._take("^")
        ranges: list[tuple[str, str]] = []
        complements: list[Ranges] = []
        while not self._take("]"):
            item = self._class_item()
            ranges += item.ranges
            complements += item.complements
            if item.complements or len(item.ranges) != 1 or self._next() != "-" or self._next(2) == "-]":
                continue
            self._at += 1
            last = self._class_item()
            if last.complements or len(last.ranges) != 1 or last.ranges[0][0] < item.ranges[0][0]:
                raise UnsupportedPattern("A range of characters is invalid")
            ranges[-1] = (item.ranges[0][0], last.ranges[0][0])
        return _Class(tuple(ranges), tuple(complements), is_negated)

    def _class_item(self) -> _Class:
        character = self._next()
        if not character:
            raise UnsupportedPattern("A class is not closed")
        self._at += 1
        if character != "\\":
            return _Class(((character, character),))
        return _Class((("\b", "\b"),)) if self._take("b") else self._escaped()
