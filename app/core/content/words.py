"""Cutting text into the words that search compares; the same for what is stored and for what is asked.

Databases cut text each in their own way, so they are given words that are cut already. Letter case, accents and
compatibility forms make no difference. Scripts that set no spaces are cut into overlapping pairs of characters.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator
from typing import NamedTuple

MAX_WORD = 64
_WORD = re.compile(r"[^\W_]+")
_ACCENTS = re.compile("[\u0300-\u036f]+")
_UNSPACED = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff"
    "\uf900-\ufaff\U00020000-\U0003134f]+"
)


class Place(NamedTuple):
    """Where a word stands in a text."""

    start: int
    end: int
    words: tuple[str, ...]


def fold(text: str) -> str:
    """Text as it is compared: without case, accents and compatibility forms."""
    if text.isascii():
        return text.lower()
    bare = _ACCENTS.sub("", unicodedata.normalize("NFKD", text))
    return unicodedata.normalize("NFC", bare).casefold()


def words(text: str) -> list[str]:
    """Every word of a text, in order, as it is stored; what is longer than any word people type is left out."""
    folded = fold(text)
    found = _WORD.findall(folded)
    if folded.isascii():
        return [word for word in found if len(word) <= MAX_WORD]
    return [piece for word in found for piece in _pieces(word, ends=True) if len(piece) <= MAX_WORD]


def wanted_words(text: str) -> list[str]:
    """The words of a question: pairs without the single character that a stored run ends with."""
    return [piece for word in _WORD.findall(fold(text)) for piece in _pieces(word, ends=False)]


def places(text: str) -> Iterator[Place]:
    """Each written word of a text with its stored words, for marking what was found."""
    for match in _WORD.finditer(text):
        yield Place(match.start(), match.end(), tuple(words(match[0])))


def is_single_character(word: str) -> bool:
    """Whether a question's word is one character of a script without spaces, which stands first in stored pairs."""
    return len(word) == 1 and bool(_UNSPACED.fullmatch(word))


def _pieces(word: str, *, ends: bool) -> Iterable[str]:
    start = 0
    for run in _UNSPACED.finditer(word):
        if run.start() > start:
            yield word[start : run.start()]
        yield from _pairs(run[0], ends=ends)
        start = run.end()
    if start < len(word):
        yield word[start:]


def _pairs(run: str, *, ends: bool) -> Iterable[str]:
    yield from (run[place : place + 2] for place in range(len(run) - 1))
    if ends or len(run) == 1:
        yield run[-1]
