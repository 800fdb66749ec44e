"""Marks in the texts of a page of HTML without templates."""

import re
from collections.abc import Iterator

from app.content.marks.positions import MarkInsertion, Position
from app.content.page_blocks import HIDDEN, INLINE, VOID
from app.content.rendered_page import Token, tokens_of

_TEXTS = "p h1 h2 h3 h4 h5 h6 li td th blockquote dt dd figcaption"
TEXT_ELEMENTS = frozenset(_TEXTS.split())
_TEMPLATE = re.compile(r"\{\{|\{%|\{#|<%|<\?|\$\{")
_HIDDEN = HIDDEN | {"pre", "math", "canvas", "object", "button"}
_LINE_END = re.compile(r"\r\n|\r|\n")


def mark_html(text: str, start: int) -> Iterator[MarkInsertion]:
    """Yield the marks of the elements of the body that starts at `start`. A text with templates has none."""
    body = text[start:]
    if _TEMPLATE.search(body):
        return
    line, counted = 1, 0
    for first, offset in _ends(body):
        opened, ended = start + first, start + offset
        line += len(_LINE_END.findall(text, counted, opened)) if opened >= counted else 0
        counted = max(counted, opened)
        last = line + len(_LINE_END.findall(text, counted, ended))
        yield MarkInsertion(ended, Position(None, None, (line, last), "text"))


def _ends(body: str) -> Iterator[tuple[int, int]]:
    """Yield the start of each element that ends with text, and the end of this text."""
    element: Token | None = None
    end, hidden = -1, ""
    for token in tokens_of(body):
        if hidden:
            hidden = "" if token.is_end and token.name == hidden else hidden
        elif token.name in _HIDDEN and not token.is_end:
            hidden, end = token.name, -1
        elif not token.name:
            text = token.text.rstrip()
            end = token.start + len(text) if text else end
        elif token.name in INLINE:
            if token.name in VOID or token.name in ("br", "wbr"):
                end = -1
            elif token.is_end and end >= 0:
                end = token.start + len(token.text)
        else:
            if element is not None and token.is_end and token.name == element.name and end >= 0:
                yield element.start, end
            element = token if token.name in TEXT_ELEMENTS and not token.is_end else None
            end = -1
