"""The few words of a text that show why it was found, and which of them those are."""

from collections.abc import Sequence
from dataclasses import dataclass

from app.core.content.search_query import Term, Where
from app.core.content.words import places

BEFORE, LENGTH = 60, 240
MAX_MARKS, MAX_LOOKED_AT = 20, 16 * 1024


@dataclass(frozen=True)
class Snippet:
    """A piece of text on one line, and where in it (start, end) the words that were asked for stand."""

    text: str
    marks: list[tuple[int, int]]


def make_snippet(body: str, terms: Sequence[Term]) -> Snippet:
    """The text around the first place where most of the terms stand; its beginning where none does."""
    found = _found(body[:MAX_LOOKED_AT], terms)
    start = _best_start(found)
    begin = _word_edge(body, max(0, start - BEFORE))
    piece = body[begin : begin + LENGTH]
    marks = [(a - begin, b - begin) for a, b, _ in found if begin <= a and b <= begin + len(piece)]
    return Snippet("".join(" " if c.isspace() else c for c in piece), marks[:MAX_MARKS])


def _found(body: str, terms: Sequence[Term]) -> list[tuple[int, int, int]]:
    """(start, end, number of the term) of each word that a term names."""
    asked = [(number, term) for number, term in enumerate(terms) if term.where is Where.ANYWHERE]
    whole = {word: number for number, term in asked for word in term.words}
    begun = [(term.words[-1], number) for number, term in asked if term.begun]
    told = []
    for place in places(body):
        numbers = [whole[word] for word in place.words if word in whole]
        numbers += [number for start, number in begun if any(word.startswith(start) for word in place.words)]
        if numbers:
            told.append((place.start, place.end, numbers[0]))
    return told


def _best_start(found: Sequence[tuple[int, int, int]]) -> int:
    """Where the window begins that holds the most different terms; the first such."""
    best, best_count = 0, 0
    for place, (start, _, _) in enumerate(found[:500]):
        inside = {number for a, b, number in found[place : place + 50] if b <= start + LENGTH - BEFORE}
        if len(inside) > best_count:
            best, best_count = start, len(inside)
    return best


def _word_edge(body: str, start: int) -> int:
    """The beginning of a word near `start`, so that none is cut."""
    if start == 0:
        return 0
    space = next((place for place in range(start, min(start + 30, len(body))) if body[place].isspace()), None)
    return start if space is None else space + 1
