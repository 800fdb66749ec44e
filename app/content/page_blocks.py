"""Differences of two built pages as blocks of text: paragraphs, headings, items and cells, and the pictures in them.

A block is the text between two tags of elements that are no part of a line. Pages are read in linear time, and have at
most `MAX_TOKENS`. The comparison has a limit.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from html import unescape
from itertools import islice, zip_longest
from typing import NamedTuple

from app.content.rendered_page import RAW, Token, plain, tokens_of
from app.content.sequence_diff import RangeChange, find_changes
from app.content.unified_diff import InlineDiff, Ranges

MARK, FIRST_MARK = "data-galley-change", "galley-change"
"""The attribute of changed elements, and the id of the first one, unless it has an id."""

MAX_TOKENS, MAX_TEXT = 100_000, 1_000
MEDIA = frozenset({"audio", "embed", "iframe", "img", "video"})
_IN_A_LINE = (
    "a abbr b bdi bdo br button cite code data del dfn em font i input ins kbd label mark picture q s samp small source"
    " span strong sub sup time track u var wbr"
)
INLINE = MEDIA | frozenset(_IN_A_LINE.split())
VOID = frozenset({"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr"})
HIDDEN = frozenset({*RAW, "title", "svg", "select", "textarea"})
ITEMS = frozenset({"li", "dt", "dd", "td", "th", "tr"})
UNMARKED = frozenset({"html", "head", "body"})
STYLE = f"<style>[{MARK}]{{outline:3px solid #c77700!important;outline-offset:3px!important}}</style>"
_ADDRESS = re.compile(r"""\ssrc\s?=\s?["']?([^"'\s>]+)""", re.IGNORECASE)
_TEXT = re.compile(r"""\salt\s?=\s?(?:"([^"]+)"|'([^']+)')""", re.IGNORECASE)
_ID = re.compile(r"\sid\s?=", re.IGNORECASE)
_SPACES = re.compile(r"\s+")


@dataclass(slots=True)
class Element:
    """An element. Attributes can be inserted at `position`. `is_nested` is True if blocks are below it."""

    name: str
    position: int
    has_id: bool
    is_nested: bool = False

    @classmethod
    def of(cls, token: Token) -> "Element":
        """Return the element that a tag starts."""
        return cls(token.name, token.start + 1 + len(token.name), _ID.search(token.text) is not None)


class TextBlock(NamedTuple):
    """A text with the element that contains it, and the first element in its line.

    Blocks are equal if their keys are. These contain links and pictures.
    """

    text: str
    key: str
    element: Element | None
    inner: Element | None

    @property
    def marked(self) -> Element | None:
        """The element that a mark surrounds. None for a text next to other blocks."""
        outer = self.element
        return self.inner if outer is None or outer.is_nested or outer.name in UNMARKED else outer


class BlockChange(NamedTuple):
    """A changed block. None: only the other page has it. Equal texts differ in links, pictures or their format.

    The ranges are the changed words of both texts. There are none if the texts have little in common.
    """

    before: str | None
    after: str | None
    before_ranges: Ranges
    after_ranges: Ranges


@dataclass
class _Reader:
    """The state of the reading: open elements, and the text since the last tag that ends a block."""

    open: list[Element] = field(default_factory=list)
    names: Counter[str] = field(default_factory=Counter)
    texts: list[str] = field(default_factory=list)
    keys: list[str] = field(default_factory=list)
    inner: Element | None = None
    hidden_in: str = ""

    def read(self, token: Token) -> TextBlock | None:
        """Return the block that a token ends."""
        if self.hidden_in:
            self.hidden_in = "" if token.is_end and token.name == self.hidden_in else self.hidden_in
        elif token.name in HIDDEN:
            self.hidden_in = "" if token.is_end or token.text.endswith("/>") else token.name
        elif not token.name or token.name in INLINE:
            self._add(token)
        elif token.name != "!":
            block = self.ended()
            self._close(token.name) if token.is_end else self._open(token)
            return block
        return None

    def ended(self) -> TextBlock | None:
        """Return the block of the texts that were read, None if they are empty."""
        text = _SPACES.sub(" ", unescape("".join(self.texts))).strip() if self.texts else ""
        element = self.open[-1] if self.open else None
        block = TextBlock(text, " ".join(self.keys), element, self.inner) if text else None
        self.texts, self.keys, self.inner = [], [], None
        return block

    def _add(self, token: Token) -> None:
        if text := _text(token):
            self.texts.append(text)
        if key := plain(token):
            self.keys.append(key)
        if self.inner is None and token.name and not token.is_end and token.name not in ("br", "wbr"):
            self.inner = Element.of(token)

    def _open(self, token: Token) -> None:
        """Nest an element. The next block ends a paragraph, and the next item an item, without their end tags."""
        last = self.open[-1].name if self.open else ""
        if last == "p" or (last in ITEMS and last == token.name):
            self.names[self.open.pop().name] -= 1
        if self.open:
            self.open[-1].is_nested = True
        if token.name not in VOID:
            self.open.append(Element.of(token))
            self.names[token.name] += 1

    def _close(self, name: str) -> None:
        while self.names[name]:
            closed = self.open.pop().name
            self.names[closed] -= 1
            if closed == name:
                return


def blocks_of(html: str) -> list[TextBlock] | None:
    """Return the blocks of a page, None above `MAX_TOKENS`. Scripts, styles, drawings and the head have none."""
    tokens = list(islice(tokens_of(html), MAX_TOKENS + 1))
    if len(tokens) > MAX_TOKENS:
        return None
    reader = _Reader()
    blocks = [*map(reader.read, tokens), reader.ended()]
    return [block for block in blocks if block is not None]


def block_changes(before: Sequence[TextBlock], after: Sequence[TextBlock]) -> Iterator[BlockChange]:
    """Yield the changes between the blocks of two pages."""
    inline = InlineDiff()
    for change in _changes(before, after):
        removed, added = before[change.start : change.end], after[change.new_start : change.new_end]
        for old, new in zip_longest(removed, added):
            texts = [block.text[:MAX_TEXT] if block is not None else None for block in (old, new)]
            ranges = inline.changed_ranges(texts[0], texts[1]) if texts[0] and texts[1] else ([], [])
            yield BlockChange(texts[0], texts[1], *ranges)


def with_changes_marked(html: str, other: str, *, is_after: bool) -> str:
    """Return a page with `MARK` at the elements that differ from the other version of the page, and their style."""
    blocks, others = blocks_of(html), blocks_of(other)
    if blocks is None or others is None:
        return html
    changes = _changes(others, blocks) if is_after else _changes(blocks, others)
    changed = [
        blocks[change.new_start : change.new_end] if is_after else blocks[change.start : change.end]
        for change in changes
    ]
    elements = {tag.position: tag for part in changed for block in part if (tag := block.marked) is not None}
    return "".join(_insert(html, [elements[position] for position in sorted(elements)])) if elements else html


def _changes(before: Sequence[TextBlock], after: Sequence[TextBlock]) -> list[RangeChange]:
    return find_changes([block.key for block in before], [block.key for block in after])


def _insert(html: str, marked: Sequence[Element]) -> Iterator[str]:
    at = _style_position(html)
    yield html[:at] + STYLE
    for number, element in enumerate(marked):
        yield f"{html[at : element.position]} {MARK}"
        yield f' id="{FIRST_MARK}"' if number == 0 and not element.has_id else ""
        at = element.position
    yield html[at:]


def _style_position(html: str) -> int:
    """Return the position after the start of the head. A page can omit it."""
    at = 0
    for token in tokens_of(html):
        if token.name not in ("", "!", "html", "head") or (not token.name and token.text.strip()):
            return at
        at = token.start + len(token.text)
    return at


def _text(token: Token) -> str:
    """Return the text of a token: of a picture its description or the name of its file."""
    if not token.name:
        return token.text
    if token.name == "br":
        return " "
    if token.name not in MEDIA or token.is_end:
        return ""
    described, address = _TEXT.search(token.text), _ADDRESS.search(token.text)
    if described is not None:
        return f" {described[1] or described[2]} "
    return f" {address[1].rpartition('/')[2]} " if address is not None else ""
