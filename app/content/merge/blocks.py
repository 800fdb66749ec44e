"""Merge of two edits of Markdown by blocks, and by words within a block that both changed, or by lines of code."""

import re
from collections.abc import Sequence
from dataclasses import replace
from functools import cache

from app.content.sequence_diff import MAX_PAIRS
from app.content.text import marks
from app.content.three_way import Part, compare_items, split_lines, with_few_conflicts

MAX_BLOCKS = 5_000
"""Texts with more blocks are merged by line."""

MAX_BLOCK_PAIRS = 1_000_000
"""Above this number of pairs of blocks, those that occur once are aligned first. Most blocks do."""

MAX_BLOCK_TOKENS = 10_000
"""A longer block that both changed is a conflict."""

MAX_TOKEN_PAIRS = 4 * MAX_PAIRS
"""The pairs of words that the comparisons of all blocks of a text may use."""

_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})([^\n]*)")
_CODE = re.compile(r"^(?: {0,3}(?:```|~~~)|import |export )", re.MULTILINE)
"""The first line of fenced code and of statements of MDX. Code is merged by line."""


@cache
def _token() -> re.Pattern[str]:
    """Return the expression of a word or sign with the white space after it, so that changes of neighbours touch."""
    return re.compile(rf"(?:[\w{marks()}]++|[^\w\s])\s*+|\s++")


def split_blocks(text: str) -> list[str]:
    """Return the blocks of a text, and the empty lines between them as items of their own.

    A block ends at an empty line. Fenced code is one block.
    """
    blocks: list[list[str]] = []
    fence, was_blank = "", True
    for line in split_lines(text):
        is_blank = not fence and line.isspace()
        if not blocks or is_blank or was_blank:
            blocks.append([])
        blocks[-1].append(line)
        was_blank = is_blank
        if "```" in line or "~~~" in line:
            fence = _fence_after(line, fence)
    return ["".join(lines) for lines in blocks]


def _fence_after(line: str, fence: str) -> str:
    """Return the fence that is open after a line, or an empty text."""
    match = _FENCE.match(line)
    if match is None:
        return fence
    marker, info = match.groups()
    if not fence:
        return "" if marker[0] == "`" and "`" in info else marker
    return "" if marker.startswith(fence) and not info.strip() else fence


def is_block(item: str) -> bool:
    """Return whether an item of `split_blocks` is a block, not an empty line."""
    return not item.isspace()


def merge_blocks(base: Sequence[str], mine: Sequence[str], theirs: Sequence[str]) -> list[Part]:
    """Merge two edits of a text, given as its blocks. Each conflict is a part of one or more blocks."""
    remaining, result = MAX_TOKEN_PAIRS, list[Part]()
    for part in compare_items(base, mine, theirs, max_pairs=MAX_BLOCK_PAIRS):
        texts = (part.base, part.mine, part.theirs)
        split = split_lines if any(map(_CODE.search, texts)) else _token().findall
        sides = [split(text) for text in texts] if part.is_conflict else []
        if not sides or max(map(len, sides)) > MAX_BLOCK_TOKENS:
            result.append(part)
            continue
        # A change that moves away from one of the other side would no longer conflict with it.
        parts = compare_items(*sides, max_pairs=min(remaining // 2, MAX_PAIRS), moves_changes=False)
        remaining = max(0, remaining - sum(min(len(sides[0]) * len(side), MAX_PAIRS) for side in sides[1:]))
        merged = [inner.merged for inner in parts if inner.merged is not None]
        result.append(replace(part, merged="".join(merged)) if len(merged) == len(parts) else part)
    return with_few_conflicts(result)
