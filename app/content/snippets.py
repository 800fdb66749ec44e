"""Snippets of a text with marks for the matching words."""

from collections.abc import Sequence
from dataclasses import dataclass

from app.content.search_query import Term, TermField
from app.content.words import term_spans

BEFORE, LENGTH = 60, 240
MAX_MARKS, MAX_LOOKED_AT = 20, 16 * 1024


@dataclass(frozen=True)
class Snippet:
    """A part of a text on one line, with the positions (start, end) of the matching words."""

    text: str
    marks: list[tuple[int, int]]


def make_snippet(body: str, terms: Sequence[Term]) -> Snippet:
    """Return the text around the first position with the most terms, or the start of the text without a match."""
    matches = _matches(body[:MAX_LOOKED_AT], terms)
    start = _best_start(matches)
    begin = _start_of_next(body, max(0, start - BEFORE))
    piece = body[begin : begin + LENGTH]
    marks = [(a - begin, b - begin) for a, b, _ in matches if begin <= a and b <= begin + len(piece)]
    return Snippet("".join(" " if c.isspace() else c for c in piece), marks[:MAX_MARKS])


def _matches(body: str, terms: Sequence[Term]) -> list[tuple[int, int, int]]:
    """Return (start, end, number of the term) of each matching word."""
    searched = [(number, term) for number, term in enumerate(terms) if term.where is TermField.ANYWHERE]
    whole = {token: number for number, term in searched for token in term.tokens}
    prefixes = [(term.tokens[-1], number) for number, term in searched if term.is_prefix]
    matches = []
    for span in term_spans(body):
        numbers = [whole[token] for token in span.terms if token in whole]
        numbers += [number for start, number in prefixes if any(token.startswith(start) for token in span.terms)]
        if numbers:
            matches.append((span.start, span.end, numbers[0]))
    return matches


def _best_start(matches: Sequence[tuple[int, int, int]]) -> int:
    """Return the start of the first window with the most different terms."""
    best, best_count = 0, 0
    for index, (start, _, _) in enumerate(matches[:500]):
        inside = {number for a, b, number in matches[index : index + 50] if b <= start + LENGTH - BEFORE}
        if len(inside) > best_count:
            best, best_count = start, len(inside)
    return best


def _start_of_next(body: str, start: int) -> int:
    """Return the start of a word near `start`, so that no word is cut."""
    if start == 0:
        return 0
    space = next((index for index in range(start, min(start + 30, len(body))) if body[index].isspace()), None)
    return start if space is None else space + 1
