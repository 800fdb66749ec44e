"""A parser of the blocks of Markdown with the additional rules of the formatted editor."""

import re
from collections.abc import MutableMapping
from types import SimpleNamespace
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.common.utils import mdTrim
from markdown_it.rules_block import StateBlock
from markdown_it.token import Token

from app.content.marks.markdown_sources import SPACE

MAX_TAG, MAX_TAG_LINES = 1_000, 50
_TAG_ENDS = {"{{<": ">}}", "{{%": "%}}", "{%": "%}"}
_TAG_START = re.compile(r"\{(?:\{[<%]|%)")


def parse_blocks(text: str, env: MutableMapping[str, Any] | None = None) -> list[Token]:
    """Return the tokens of the blocks of a text. Texts inside of blocks are not parsed."""
    tokens: list[Token] = []
    _PARSER.block.parse(text, _PARSER, {} if env is None else env, tokens)
    return tokens


def _parse_plain_paragraph(state: StateBlock, start: int, _end: int, _silent: bool) -> bool:
    """Read a paragraph whose lines all start with a letter, up to an empty line or the next item of a list.

    No other rule applies to it. Most paragraphs have this form, and this is faster.
    """
    if state.sCount[start] - state.blkIndent >= 4:
        return False
    source, line, indent = state.src, start, state.blkIndent
    while line < state.lineMax:
        first = state.bMarks[line] + state.tShift[line]
        if first >= state.eMarks[line]:
            break
        if not source[first].isalpha() or state.sCount[line] < indent:
            if line == start or not _is_next_item(state, line, first):
                return False
            break
        line += 1
    _push_paragraph(state, start, line, mdTrim(state.getLines(start, line, indent, False)))
    return True


def _is_next_item(state: StateBlock, line: int, first: int) -> bool:
    """Return whether a line less indented than a list item starts another item with text."""
    is_item = state.src[first] in "-*+" and state.src.startswith(" ", first + 1)
    return (
        is_item
        and 0 <= state.sCount[line] < min(state.blkIndent, 4)
        and state.sCount[line] <= state.listIndent
        and (not state.src[first + 2 : state.eMarks[line]].isspace() and state.eMarks[line] > first + 2)
    )


def _push_paragraph(state: StateBlock, start: int, end: int, content: str) -> None:
    state.push("paragraph_open", "p", 1).map = [start, end]
    token = state.push("inline", "", 0)
    token.map, token.content, token.children = [start, end], content, []
    state.push("paragraph_close", "p", -1)
    state.line = end


def _parse_tag(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """Read a tag of a template that has several lines as one paragraph."""
    at = state.bMarks[start] + state.tShift[start]
    match = _TAG_START.match(state.src, at, state.eMarks[start])
    if match is None or state.sCount[start] - state.blkIndent >= 4:
        return False
    close = _TAG_ENDS[match[0]]
    if close in state.src[at : state.eMarks[start]]:
        return False
    for line in range(start + 1, min(end, start + MAX_TAG_LINES)):
        text = state.src[state.bMarks[line] + state.tShift[line] : state.eMarks[line]].rstrip(SPACE)
        if "{{" in text or "{%" in text or (text and state.sCount[line] < state.blkIndent):
            return False
        if close in text:
            if text.endswith(close) and not silent:
                content = state.getLines(start, line + 1, state.blkIndent, False).strip(SPACE)
                _push_paragraph(state, start, line + 1, content)
            return text.endswith(close)
    return False


def _template_target_end(source: str, start: int, end: int) -> int:
    """Return the end of a link target that starts with a tag of a template, or -1."""
    if source[start : start + 2] not in ("{{", "{%"):
        return -1
    at = start
    while at < end:
        close = {"{{": "}}", "{%": "%}"}.get(source[at : at + 2])
        if close is not None:
            inner = source[at + 2 : min(at + MAX_TAG, end)]
            length = inner.find(close)
            if length < 0 or "\n" in inner[:length]:
                return -1
            at += length + 4
        elif source[at] in "()<>" or source[at] in SPACE:
            break
        else:
            at += 1
    return at


def _parser() -> MarkdownIt:
    parser = MarkdownIt("js-default", {"html": True})
    parser.block.ruler.before("table", "plain_paragraph", _parse_plain_paragraph)
    parser.block.ruler.before("table", "tag", _parse_tag, {"alt": ["paragraph", "reference", "blockquote", "list"]})
    parse_destination = parser.helpers.parseLinkDestination

    def parse_target(source: str, start: int, end: int) -> Any:
        stop = _template_target_end(source, start, end)
        if stop < 0:
            return parse_destination(source, start, end)
        return SimpleNamespace(ok=True, pos=stop, str=source[start:stop])

    helpers = SimpleNamespace(parseLinkDestination=parse_target, parseLinkTitle=parser.helpers.parseLinkTitle)
    parser.helpers = helpers  # type: ignore[assignment]
    # The editor permits every address.
    parser.validateLink = lambda url: True  # type: ignore[method-assign]  # noqa: ARG005
    parser.normalizeLink = lambda url: url  # type: ignore[method-assign]
    return parser


_PARSER = _parser()
