"""Words of a text for search, identical for stored texts and queries.

Databases split text in different ways, so they receive separate words. Case, accents and compatibility forms are
ignored. Scripts without spaces are split into overlapping pairs of characters.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator
from typing import NamedTuple

MAX_TERM_CHARACTERS = 64
_TOKEN = re.compile(r"[^\W_]+")
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
    matches: list[str] = _TOKEN.findall(folded)
    if folded.isascii():
        if max(map(len, matches), default=0) <= MAX_TERM_CHARACTERS:
            return matches
        return [word for word in matches if len(word) <= MAX_TERM_CHARACTERS]
    return [piece for word in matches for piece in _pieces(word, ends=True) if len(piece) <= MAX_TERM_CHARACTERS]


def query_terms(text: str) -> list[str]:
    """Return the words of a query. Pairs do not end with the single character that ends a stored run."""
    return [piece for word in _TOKEN.findall(fold(text)) for piece in _pieces(word, ends=False)]


def term_spans(text: str) -> Iterator[TermSpan]:
    """Yield each word of a text with its stored terms, to mark matches."""
    for match in _TOKEN.finditer(text):
        word = match[0]
        is_plain = word.isascii() and len(word) <= MAX_TERM_CHARACTERS
        yield TermSpan(match.start(), match.end(), (word.lower(),) if is_plain else tuple(words(word)))


def is_single_character(word: str) -> bool:
    """Return whether a word of a query is one character of a script without spaces, which starts stored pairs."""
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
    yield from (run[index : index + 2] for index in range(len(run) - 1))
    if ends or len(run) == 1:
        yield run[-1]
