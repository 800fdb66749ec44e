"""The top-level blocks of a text of Markdown, divided as the formatted editor of the console divides it.

`split` in `app/console/assets/src/markdown/parse.ts` has the same rules. A test compares both.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from markdown_it.common.utils import normalizeReference
from markdown_it.token import Token

from app.content.marks.markdown_parser import parse_blocks
from app.content.marks.markdown_sources import SPACE, is_source

_FENCE = re.compile(r"(---|\+\+\+)[ \t]*\n")
_DEFINITION = re.compile(r"[ \t]+\[([^\]]+)\]:[ \t]*\S")


class LineBlock(NamedTuple):
    """The lines `[first, end)` of a block. `tokens` is None if the editor shows its source.

    The lines of the tokens count from `offset`.
    """

    first: int
    end: int
    tokens: Sequence[Token] | None
    offset: int = 0


def blocks_of(text: str, *, is_mdx: bool) -> list[LineBlock]:
    """Return the blocks of a text that has line feeds only. Text between the blocks is blank."""
    lines = text.split("\n")
    header = _header_lines(text)
    body = text if not header else "\n".join(lines[header:])
    splitter = _Splitter(lines, header, is_mdx=is_mdx)
    blocks = [LineBlock(0, header, None)] if header else []
    position = header
    for first, end, tokens in _groups(parse_blocks(body)):
        if header + first > position:
            blocks += splitter.blocks(position, header + first, None)
        blocks += splitter.blocks(header + first, header + end, tokens)
        position = header + end
    return [*blocks, *splitter.blocks(position, len(lines), None)]


def _header_lines(text: str) -> int:
    """Return the number of lines of the front matter that a text still has."""
    opening = _FENCE.match(text)
    if opening is None:
        return 0
    fence = opening[1]
    ends = (at for at, line in enumerate(text.split("\n"), 1) if at > 1 and line.rstrip(" \t") == fence)
    # The editor prefers a fence that is not directly below the first one.
    second, third = next(ends, 0), next(ends, 0)
    return third or second if second == 2 else second


class _Splitter:
    """Division of ranges of lines into blocks."""

    def __init__(self, lines: Sequence[str], offset: int, *, is_mdx: bool) -> None:
        self._lines, self._offset, self._is_mdx = lines, offset, is_mdx

    def blocks(self, first: int, end: int, tokens: Sequence[Token] | None) -> Iterator[LineBlock]:
        """Yield the blocks of a range: none if it is blank, two for a list with link addresses at its end."""
        lines = self._lines
        while first < end and not lines[first].strip(SPACE):
            first += 1
        while end > first and not lines[end - 1].strip(SPACE):
            end -= 1
        if first == end:
            return
        cut = self._definitions_start(first, end, tokens)
        if cut < end:
            stop = cut
            while stop > first and not lines[stop - 1].strip(SPACE):
                stop -= 1
            inner = parse_blocks("\n".join(lines[first:stop]))
            yield self._classified(first, stop, inner, first)
            yield from self.blocks(cut, end, None)
            return
        yield self._classified(first, end, tokens, self._offset)

    def _classified(self, first: int, end: int, tokens: Sequence[Token] | None, offset: int) -> LineBlock:
        source = "\n".join(self._lines[first:end])
        is_text = tokens is not None and not is_source(source, tokens, is_mdx=self._is_mdx)
        return LineBlock(first, end, tokens if is_text else None, offset)

    def _definitions_start(self, first: int, end: int, tokens: Sequence[Token] | None) -> int:
        """Return the line at which link addresses begin that end a list, or the end of the list."""
        lines = self._lines
        if (
            not tokens
            or not tokens[0].type.endswith("_list_open")
            or not any("]:" in line for line in lines[first:end])
        ):
            return end
        env: dict[str, Any] = {}
        parse_blocks("\n".join(lines[first:end]), env)
        known, start = env.get("references", {}), end
        while start > first + 1:
            match = _DEFINITION.match(lines[start - 1])
            if match is None or normalizeReference(match[1]) not in known:
                break
            start -= 1
        return end if lines[start - 1].strip(SPACE) else start


def _groups(tokens: Sequence[Token]) -> Iterator[tuple[int, int, Sequence[Token]]]:
    """Yield the lines and the tokens of each top-level block of the parser."""
    depth, first = 0, 0
    for index, token in enumerate(tokens):
        if depth == 0:
            first = index
        depth += token.nesting
        start, end = tokens[first].map or (0, 0)
        if depth == 0 and end > start:
            yield start, end, tokens[first : index + 1]
