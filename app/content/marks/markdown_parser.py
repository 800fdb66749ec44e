"""A parser of the blocks of Markdown with the additional rules of the formatted editor."""

import re
from collections.abc import Callable, Mapping, MutableMapping, Sequence
from types import SimpleNamespace
from typing import Any

from markdown_it import MarkdownIt, rules_block
from markdown_it.common.utils import mdTrim
from markdown_it.rules_block import StateBlock
from markdown_it.token import Token

from app.content.marks.markdown_sources import SPACE

MAX_TAG, MAX_TAG_LINES = 1_000, 50
_TAG_ENDS = {"{{<": ">}}", "{{%": "%}}", "{%": "%}"}
_TAG_START = re.compile(r"\{(?:\{[<%]|%)")

Rule = Callable[[StateBlock, int, int, bool], bool]
_ITEM = (rules_block.hr, rules_block.list_block)
_LIST_RULES: Mapping[str, Sequence[Rule]] = {
    "`": (rules_block.fence,),
    "~": (rules_block.fence,),
    ">": (rules_block.blockquote,),
    **dict.fromkeys("*-_", (rules_block.hr,)),
}
"""The rules by the first character of their blocks. These end an item of a list."""

_RULES: Mapping[str, Sequence[Rule]] = {
    **_LIST_RULES,
    **dict.fromkeys("*-", _ITEM),
    **dict.fromkeys("+0123456789", (rules_block.list_block,)),
    "<": (rules_block.html_block,),
    "#": (rules_block.heading,),
}
"""The rules whose blocks end a paragraph."""


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
    # The tokens around the text have no use here.
    _push_text(state, start, line, mdTrim(state.getLines(start, line, indent, False)))
    state.line = line
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


def _push_text(state: StateBlock, start: int, end: int, content: str) -> None:
    token = state.push("inline", "", 0)
    token.map, token.content = [start, end], content


def _parse_tag(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """Read a tag of a template that has several lines as one paragraph."""
    at = state.bMarks[start] + state.tShift[start]
    match = _TAG_START.match(state.src, at, state.eMarks[start]) if state.src[at : at + 1] == "{" else None
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
                _push_text(state, start, line + 1, state.getLines(start, line + 1, state.blkIndent, False).strip(SPACE))
                state.line = line + 1
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


def _by_first_character(rules: Mapping[str, Sequence[Rule]]) -> Rule:
    """Return a rule that selects one of several. Without it, all are called for each line, which takes most time."""

    def parse(state: StateBlock, start: int, end: int, silent: bool) -> bool:
        at = state.bMarks[start] + state.tShift[start]
        selected = rules.get(state.src[at : at + 1])
        if selected is None:
            return False
        return selected[0](state, start, end, silent) or (len(selected) > 1 and selected[1](state, start, end, silent))

    return parse


def _parse_table(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    if start + 1 >= end:
        return False
    at = state.bMarks[start + 1] + state.tShift[start + 1]
    return state.src[at : at + 1] in "|-:" and rules_block.table(state, start, end, silent)


def _parse_reference(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    at = state.bMarks[start] + state.tShift[start]
    return state.src[at : at + 1] == "[" and rules_block.reference(state, start, end, silent)


def _parser() -> MarkdownIt:
    parser = MarkdownIt("js-default", {"html": True})
    ruler = parser.block.ruler
    ruler.at("table", _parse_table, {"alt": ["paragraph", "reference"]})
    ruler.at("reference", _parse_reference, {"alt": []})
    ruler.before("table", "plain_paragraph", _parse_plain_paragraph)
    ruler.before("table", "tag", _parse_tag, {"alt": ["paragraph", "reference", "blockquote", "list"]})
    ruler.before("fence", "markers", _by_first_character(_RULES), {"alt": ["paragraph", "reference", "blockquote"]})
    ruler.before("fence", "markers_in_list", _by_first_character(_LIST_RULES), {"alt": ["list"]})
    ruler.disable(["fence", "blockquote", "hr", "list", "html_block", "heading"])
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
