"""Quotations of the text of a built page (W3C Web Annotation, TextQuoteSelector), and their position after a new build.

The text of a page is that of its elements without scripts and styles, with one space for each run of spaces. The script
of the built pages of a review link quotes the same text. The time is linear in the size of the page.
"""

import re
from dataclasses import dataclass
from enum import StrEnum
from html import unescape

from app.content.rendered_page import RAW, tokens_of

_SKIPPED = (*RAW, "title")
_SPACES = re.compile(r"\s+")
MAX_GAP = 1_000
"""The characters between the old surroundings of a text that was changed."""
MIN_ALONE, SIDE = 16, 8
"""A shorter text is in the same position only if these characters before or after it are the same.

A word of a deleted paragraph often occurs once in the menu.
"""


class QuotePosition(StrEnum):
    """The position of a quoted text: unchanged, changed where it was, or no longer on the page."""

    UNCHANGED = "unchanged"
    CHANGED = "changed"
    MISSING = "missing"


@dataclass(frozen=True)
class TextQuote:
    """A quoted text with the text around it."""

    exact: str
    prefix: str = ""
    suffix: str = ""


def text_of(html: str) -> str:
    """Return the text of a page."""
    parts: list[str] = []
    depths = dict.fromkeys(_SKIPPED, 0)
    for token in tokens_of(html):
        if token.name in depths:
            depths[token.name] = max(0, depths[token.name] + (-1 if token.is_end else 1))
        elif not token.name and not any(depths.values()):
            parts.append(token.text)
    return _SPACES.sub(" ", unescape("".join(parts)))


def find_quote(text: str, quote: TextQuote) -> QuotePosition:
    """Return the position of a quotation in the text of a page.

    It is unchanged only if it occurs once with the text around it. Two equal candidates are none. A text that occurs
    once in other surroundings, or other text in its surroundings, is changed. A short text needs a part of its
    surroundings.
    """
    prefix, exact, suffix = (_SPACES.sub(" ", part) for part in (quote.prefix, quote.exact, quote.suffix))
    matches = _count(text, prefix + exact + suffix)
    if matches:
        return QuotePosition.UNCHANGED if matches == 1 else QuotePosition.MISSING
    is_moved = _count(text, exact) == 1 and (len(exact) >= MIN_ALONE or _has_side(text, prefix, exact, suffix))
    if is_moved or _is_replaced(text, prefix, suffix):
        return QuotePosition.CHANGED
    return QuotePosition.MISSING


def _count(text: str, part: str) -> int:
    """Return 0, 1, or 2 for more."""
    first = text.find(part) if part else -1
    if first < 0:
        return 0
    return 1 if text.find(part, first + 1) < 0 else 2


def _has_side(text: str, prefix: str, exact: str, suffix: str) -> bool:
    """Return whether a text that occurs once has a part of its surroundings on one side."""
    start = text.find(exact)
    before, after = prefix[-SIDE:], suffix[:SIDE]
    is_before = bool(before.strip()) and text.endswith(before, 0, start)
    return is_before or (bool(after.strip()) and text.startswith(after, start + len(exact)))


def _is_replaced(text: str, prefix: str, suffix: str) -> bool:
    """Return whether both surroundings occur once, with other text between them."""
    if not prefix.strip() or not suffix.strip() or _count(text, prefix) != 1 or _count(text, suffix) != 1:
        return False
    start = text.find(prefix) + len(prefix)
    return 0 <= text.find(suffix) - start <= MAX_GAP
