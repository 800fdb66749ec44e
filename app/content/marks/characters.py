"""Numbers as invisible characters in a text: their notation, search and removal.

A mark is a start, twelve digits in base 4 and a check digit. Its characters are ignored by renderers and do not break
lines.
"""

import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

DIGITS = "\u2060\u2061\u2062\u2063"
START = DIGITS[3] + DIGITS[0] + DIGITS[3]
MAX_NUMBER = 4**12 - 1
MARK_CHARACTERS = 16

_MARK = re.compile(f"(?={START}([{DIGITS}]{{12}})([{DIGITS}]))")
_VALUES = str.maketrans(DIGITS, "0123")
_GROUPS = [tuple(byte >> shift & 3 for shift in (6, 4, 2, 0)) for byte in range(256)]
# The factors of the check digit modulo 4 are 1, 2, 3, 0 in each group of four digits.
_CHECKS = [first + 2 * second + 3 * third for first, second, third, _ in _GROUPS]
_TEXTS = ["".join(DIGITS[digit] for digit in group) for group in _GROUPS]


class MarkMatch(NamedTuple):
    """A mark at `text[start:end]`."""

    start: int
    end: int
    number: int


def encode(number: int) -> str:
    """Return the mark of a number.

    Raises:
        ValueError: the number is negative or above `MAX_NUMBER`.
    """
    if not 0 <= number <= MAX_NUMBER:
        raise ValueError("a mark has no such number")
    high, middle, low = number >> 16, number >> 8 & 255, number & 255
    check = (_CHECKS[high] + _CHECKS[middle] + _CHECKS[low]) % 4
    return START + _TEXTS[high] + _TEXTS[middle] + _TEXTS[low] + DIGITS[check]


def find_marks(text: str) -> Iterator[MarkMatch]:
    """Yield the marks of a text. They do not overlap. A sequence with a wrong check digit is no mark."""
    end = 0
    for mark in _candidates(text):
        if mark.start >= end:
            end = mark.end
            yield mark


def strip_marks(text: str, is_known: Callable[[int], bool]) -> str:
    """Return the text without the marks whose number is known, in linear time.

    Other characters of the same code points remain. A text without such marks is returned itself.
    """
    parts, end = list[str](), 0
    for mark in _candidates(text):
        if mark.start >= end and is_known(mark.number):
            parts.append(text[end : mark.start])
            end = mark.end
    return "".join([*parts, text[end:]]) if end else text


def _candidates(text: str) -> Iterator[MarkMatch]:
    """Yield all marks. A mark after the start of an incomplete one can overlap a sequence that only resembles one."""
    if START not in text:
        return
    for match in _MARK.finditer(text):
        number = int(match[1].translate(_VALUES), 4)
        check = (_CHECKS[number >> 16] + _CHECKS[number >> 8 & 255] + _CHECKS[number & 255]) % 4
        if match[2] == DIGITS[check]:
            yield MarkMatch(match.start(), match.start() + MARK_CHARACTERS, number)
