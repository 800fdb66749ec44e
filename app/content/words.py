"""Words of a text for search, identical for stored texts and queries.

Databases split text in different ways, so they receive separate words. Case, accents and compatibility forms are
ignored. Scripts without spaces are split into overlapping pairs of characters.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from app.content.text import term_pattern

MAX_TERM_CHARACTERS = 64
_TOKEN = re.compile(r"[^\W_]+")
# Marks that most writers omit: points of Hebrew and Arabic, joiners, soft hyphens and variation selectors.
_OPTIONAL = re.compile(
    "[\u00ad\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0610-\u061a\u0640\u064b-\u065f\u0670"
    "\u06d6-\u06dc\u06df-\u06e4\u06e7\u06e8\u06ea-\u06ed\u200c-\u200f\u2060\ufe00-\ufe0f\ufeff]+"
)
_ACCENTS = re.compile("[\u0300-\u036f]+")
_UNSPACED = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff"
    "\uf900-\ufaff\U00020000-\U0003134f]+"
)


class TermSpan(NamedTuple):
    """Position of a word in a text, with its stored terms."""

    start: int
    end: int
    terms: tuple[str, ...]


def fold(text: str) -> str:
    """Return text without case, accents and compatibility forms."""
    if text.isascii():
        return text.lower()
    bare = _ACCENTS.sub("", unicodedata.normalize("NFKD", text))
    return unicodedata.normalize("NFC", bare).casefold()


def words(text: str) -> list[str]:
    """Return the words of a text in order, as they are stored. Very long words are omitted."""
    folded = fold(text)
    if folded.isascii():
        matches: list[str] = _TOKEN.findall(folded)
        if max(map(len, matches), default=0) <= MAX_TERM_CHARACTERS:
            return matches
        return [word for word in matches if len(word) <= MAX_TERM_CHARACTERS]
    return [piece for word in _tokens(folded) for piece in _pieces(word) if len(piece) <= MAX_TERM_CHARACTERS]


def query_terms(text: str) -> list[str]:
    """Return the words of a query.

    They do not end with the last character of a run, because a stored run may continue.
    """
    pieces = [piece for word in _tokens(fold(text)) for piece in _pieces(word)]
    is_end_of_run = len(pieces) > 1 and len(pieces[-2]) == 2 and pieces[-2][1] == pieces[-1]
    return pieces[:-1] if is_end_of_run and is_single_character(pieces[-1]) else pieces


def _tokens(folded: str) -> list[str]:
    """Return the words of a folded text, with their marks."""
    tokens: list[str] = term_pattern().findall(_OPTIONAL.sub("", folded))
    return tokens


def term_spans(text: str) -> Iterator[TermSpan]:
    """Yield each word of a text with its stored terms, to mark matches."""
    for match in (_TOKEN if text.isascii() else term_pattern()).finditer(text):
        word = match[0]
        is_plain = word.isascii() and len(word) <= MAX_TERM_CHARACTERS
        yield TermSpan(match.start(), match.end(), (word.lower(),) if is_plain else tuple(words(word)))


def is_single_character(word: str) -> bool:
    """Return whether a word of a query is one character of a script without spaces, which starts stored pairs."""
    return len(word) == 1 and bool(_UNSPACED.fullmatch(word))


def _pieces(word: str) -> Iterable[str]:
    start = 0
    for run in _UNSPACED.finditer(word):
        if run.start() > start:
            yield word[start : run.start()]
        yield from (run[0][index : index + 2] for index in range(len(run[0]) - 1))
        yield run[0][-1]
        start = run.end()
    if start < len(word):
        yield word[start:]
