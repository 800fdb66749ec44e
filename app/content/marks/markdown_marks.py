"""Marks in the body of a page of Markdown or MDX."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import accumulate, pairwise
from typing import Literal

from markdown_it.token import Token

from app.content.marks.markdown_blocks import LineBlock, blocks_of
from app.content.marks.markdown_sources import cells_of
from app.content.marks.positions import MarkInsertion, Position
from app.content.marks.text_ends import TextEnd, text_end

_LINE_END = re.compile(r"\r\n|\r|\n")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})[ \t]*(\S?)")
_METADATA = re.compile(r" {0,3}:?[A-Za-z0-9_-]+:(?:\s|\Z)")
_STATEMENT = re.compile(r"\s*(?:import|export)\s")
_RAW = re.compile(
    r"<(/?)(script|style|pre|textarea|svg|math|template|select|title|iframe|noscript|code)\b"
    r"|\{[{%][<%]?-?\s*+(/\s*+|end)?+([\w-]++)",
    re.IGNORECASE,
)
_CODE_NAMES = "chart chartjs katex raw comment verbatim capture csv json kroki timeline gravizo"
_CODE_TAGS = frozenset(_CODE_NAMES.split())
_CODE_PARTS = ("code", "highlight", "mermaid", "math", "graphviz", "plantuml")


def mark_markdown(text: str, start: int, *, is_mdx: bool, code_end: int = 0) -> Iterator[MarkInsertion]:
    """Yield the marks of the body that starts at `start` of a text. Blocks that start before `code_end` have none.

    Headings that a page repeats have none: generators number their ids, and marks would make them different.
    """
    offsets, lines = _lines_of(text, start)
    first_line = _line_number(text, start)
    code = _CodeState(text[start:], is_mdx=is_mdx)
    blocks = [*blocks_of("\n".join(lines), is_mdx=is_mdx)]
    titles = Counter(map(_title, blocks))
    for index, block in enumerate(blocks):
        if offsets[block.first] < code_end:
            continue
        source = lines[block.first : block.end]
        if code.covers(source, is_source=block.tokens is None) or block.tokens is None:
            continue
        title = _title(block)
        if title and titles[title] > 1:
            continue
        if start == 0 and index == 0 and _METADATA.match(source[0]):
            continue
        position = (first_line + block.first, first_line + block.end - 1)
        for line, column, kind in _texts_of(block, block.tokens, lines, code):
            yield MarkInsertion(offsets[line] + column, Position(None, index, position, kind))


def text_positions(text: str) -> Iterator[tuple[int, int]]:
    """Yield the line and the column of the mark of each text of a value that has line feeds only."""
    lines = text.split("\n")
    code = _CodeState(text, is_mdx=False)
    for block in blocks_of(text, is_mdx=False):
        if not code.covers(lines[block.first : block.end], is_source=block.tokens is None) and block.tokens:
            yield from ((line, column) for line, column, _ in _texts_of(block, block.tokens, lines, code))


def _title(block: LineBlock) -> str:
    """Return the text of a heading, as far as ids distinguish it, else an empty text."""
    tokens = block.tokens or ()
    is_heading = len(tokens) > 1 and tokens[0].type == "heading_open"
    return " ".join(tokens[1].content.casefold().split()) if is_heading else ""


def _lines_of(text: str, start: int) -> tuple[list[int], list[str]]:
    """Return the positions of the lines of a body, and the lines without their ends."""
    body = text[start:]
    if "\r" not in body:
        lines = body.split("\n")
        return list(accumulate((len(line) + 1 for line in lines[:-1]), initial=start)), lines
    ends = [*_LINE_END.finditer(body)]
    starts = [0, *(end.end() for end in ends)]
    stops = [*(end.start() for end in ends), len(body)]
    return [start + at for at in starts], [body[at:stop] for at, stop in zip(starts, stops, strict=True)]


def _line_number(text: str, position: int) -> int:
    before = text[:position]
    return 1 + before.count("\n") + before.count("\r") - before.count("\r\n")


def _raw_tags(text: str) -> Iterator[re.Match[str]]:
    """Yield the tags of elements and shortcodes whose content can be code."""
    if "<" not in text and "{" not in text:
        return
    for match in _RAW.finditer(text):
        name = _name(match)
        if match[2] or name in _CODE_TAGS or any(part in name for part in _CODE_PARTS):
            yield match


def _name(match: re.Match[str]) -> str:
    return (match[2] or match[4]).lower()


def _is_end(match: re.Match[str]) -> bool:
    return bool(match[1] or match[3])


class _CodeState:
    """Code that continues after a blank line: elements, shortcodes, expressions of MDX, and fences directly below HTML.

    The editor does not know it.
    """

    def __init__(self, text: str, *, is_mdx: bool) -> None:
        self._is_mdx = is_mdx
        self._closed = {_name(match) for match in _raw_tags(text) if _is_end(match)}
        self._raw, self._fence, self._depth, self._is_tag_open, self._is_statement = "", "", 0, False, False

    @property
    def is_open(self) -> bool:
        """Return whether code continues after the last block."""
        return bool(self._raw)

    def covers(self, lines: Sequence[str], *, is_source: bool) -> bool:
        """Return whether a block starts inside of such code, and read the code that it starts or ends."""
        was_open = bool(self._raw or self._fence or self._depth or self._is_tag_open)
        source = "\n".join(lines)
        self._raw = self._raw_after(source, self._raw)
        if is_source or self._fence:
            self._read_fences(lines)
        if self._is_mdx and (is_source or was_open):
            self._read_expression(source)
        return was_open

    def start_in(self, text: str) -> int | None:
        """Return the start of code that has no end in a text, or None without such code."""
        return self.open_after(text, "")[1]

    def _raw_after(self, source: str, raw: str) -> str:
        return self.open_after(source, raw)[0]

    def open_after(self, source: str, raw: str) -> tuple[str, int | None]:
        """Return the name of the code that is open after a source, and where it starts in the source."""
        start: int | None = None
        for match in _raw_tags(source):
            name = _name(match)
            if _is_end(match) and name == raw:
                raw, start = "", None
            elif not _is_end(match) and not raw and name in self._closed:
                raw, start = name, match.start()
        return raw, start

    def _read_fences(self, lines: Sequence[str]) -> None:
        """Read fences in HTML, where kramdown and Python-Markdown find code."""
        for match in filter(None, map(_FENCE.match, lines)):
            if not self._fence:
                self._fence = match[1]
            elif not match[2] and match[1].startswith(self._fence):
                self._fence = ""

    def _read_expression(self, source: str) -> None:
        self._is_statement = bool(_STATEMENT.match(source)) or (self._is_statement and self._depth > 0)
        opening, closing = ("{[(", "}])") if self._is_statement else ("{", "}")
        change = sum(map(source.count, opening)) - sum(map(source.count, closing))
        self._depth = max(0, self._depth + change)
        if "<" in source or ">" in source:
            self._is_tag_open = source.rfind("<") > source.rfind(">")


def _texts_of(
    block: LineBlock, tokens: Sequence[Token], lines: Sequence[str], code: _CodeState
) -> Iterator[tuple[int, int, Literal["text", "alt"]]]:
    """Yield the line, the column and the kind of each mark of a block."""
    if tokens[0].type == "table_open":
        yield from () if code.is_open else _cells(block, tokens, lines)
        return
    raw = ""
    for before, token in pairwise((tokens[0], *tokens)):
        if token.type != "inline" or not token.content or token.map is None:
            continue
        content, is_inside = token.content, bool(raw)
        raw, _ = code.open_after(content, raw)
        if is_inside:
            continue
        end = _end_outside_code(content, before.type == "heading_open", code)
        line = block.offset + token.map[0] + (content.count("\n", 0, end.position) if end is not None else 0)
        column = _column(lines[line], content, end.position) if end is not None else None
        if end is not None and column is not None:
            yield line, column, "alt" if end.is_alt else "text"


def _end_outside_code(text: str, is_heading: bool, code: _CodeState) -> TextEnd | None:
    """Return the position of a mark in a text. If the text ends with code, the mark stands before the code."""
    end = text_end(text, is_heading=is_heading)
    if end is None or (start := code.start_in(text[: end.position])) is None:
        return end
    before = text_end(text[:start], is_heading=is_heading)
    return before if before is None or code.start_in(text[: before.position]) is None else None


def _column(line: str, content: str, position: int) -> int | None:
    """Return the column in a line of the file of a position in a text, which lacks the indentation of its lines."""
    start = content.rfind("\n", 0, position) + 1
    end = content.find("\n", position)
    part = content[start : len(content) if end < 0 else end].rstrip()
    at = line.rfind(part)
    # Only closing number signs of a heading follow the text.
    if at < 0 or line[at + len(part) :].strip(" \t#\\"):
        return None
    return at + position - start


def _cells(
    block: LineBlock, tokens: Sequence[Token], lines: Sequence[str]
) -> Iterator[tuple[int, int, Literal["text", "alt"]]]:
    columns = sum(token.type == "th_open" for token in tokens)
    for line in (block.first, *range(block.first + 2, block.end)):
        row = lines[line]
        cells = cells_of(row)[:columns]
        if any(row.count("`", *cell) % 2 for cell in cells):
            continue
        for start, stop in cells:
            end = text_end(row[start:stop])
            if end is not None:
                yield line, start + end.position, "alt" if end.is_alt else "text"
