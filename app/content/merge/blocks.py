"""Merge of two edits of Markdown by blocks, and by words within a block that both changed, or by lines of code."""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import islice, takewhile

from app.content.sequence_diff import MAX_PAIRS
from app.content.three_way import Part, compare_items, conflict_of, split_lines, with_few_conflicts
from app.content.words import words

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

_HEADING = re.compile(r" {0,3}#{1,6}(?:\s|\Z)")
_MARK = re.compile(r"^(?=.*\S)[ \t]*+(?:(?:[-*+]|\d+[.)])(?=\s)|[>|])?", re.MULTILINE)
"""The indentation of a line and the sign of its list, quotation or table."""

_SIGN = r"(?:[^\w\s]|[\d_])"
_STOPS = "\u3001\u3002\uff01\uff0c\uff1a\uff1b\uff1f"
"""The signs that end a clause of Chinese or Japanese, where no white space separates words."""

_TOKEN = re.compile(rf"\s++|(?:{_SIGN}++\s++)*+{_SIGN}*+[^\W\d_][^\s{_STOPS}]*+[{_STOPS}]*+\s*+|(?s:.+)")
"""A word between white space, with the white space after it. Numbers and signs belong to the next word.

So the parts of a price, a date, an address or a telephone number are in one token or in adjacent ones.
"""


def split_blocks(text: str) -> list[str]:
    """Return the blocks of a text, and the empty lines between them as items of their own.

    A block ends at an empty line. A heading and fenced code are one block each. Of a text with more than `MAX_BLOCKS`,
    only one more is returned.
    """
    blocks, count = list[list[str]](), 0
    fence, is_end = "", True
    has_headings, has_fences = "#" in text, "```" in text or "~~~" in text
    for line in split_lines(text):
        is_own = is_blank = not fence and line.isspace()
        if has_headings and not fence and "#" in line[:4] and _HEADING.match(line):
            is_own = True
        if is_own or is_end:
            count += not is_blank
            if count > MAX_BLOCKS + 1:
                break
            blocks.append([])
        blocks[-1].append(line)
        is_end = is_own
        if has_fences and ("```" in line or "~~~" in line):
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


def _split_terms(text: str) -> list[str]:
    """Return the words of a block, and one more than `MAX_BLOCK_TOKENS` of a longer one."""
    return [match[0] for match in islice(_TOKEN.finditer(text), MAX_BLOCK_TOKENS + 1)]


def is_block(item: str) -> bool:
    """Return whether an item of `split_blocks` is a block, not an empty line."""
    return not item.isspace()


def _is_heading(block: str) -> bool:
    lines = block.splitlines()
    return bool(_HEADING.match(block)) or (len(lines) > 1 and set(lines[-1].strip()) in ({"="}, {"-"}))


def merge_blocks(base: Sequence[str], mine: Sequence[str], theirs: Sequence[str]) -> list[Part]:
    """Merge two edits of a text, given as its blocks. Each conflict is a part of one or more blocks."""
    remaining, result = MAX_TOKEN_PAIRS, list[Part]()

    def merged(part: Part, *splits: Callable[[str], list[str]]) -> str | None:
        """Return the text of a part. The parts of the first split that conflict are split by the next one."""
        nonlocal remaining
        if part.merged is not None or not splits:
            return part.merged
        sides = [splits[0](text) for text in (part.base, part.mine, part.theirs)]
        if max(map(len, sides)) > MAX_BLOCK_TOKENS:
            return None
        # A change that moves away from one of the other side would no longer conflict with it.
        parts = compare_items(*sides, max_pairs=min(remaining // 2, MAX_PAIRS), moves_changes=False)
        remaining = max(0, remaining - sum(min(len(sides[0]) * len(side), MAX_PAIRS) for side in sides[1:]))
        texts = [merged(inner, *splits[1:]) for inner in parts]
        return None if None in texts else "".join(map(str, texts))

    for part in compare_items(base, mine, theirs, max_pairs=MAX_BLOCK_PAIRS):
        is_code = any(map(_CODE.search, (part.base, part.mine, part.theirs)))
        splits = [split_lines] if is_code else [split_lines, _split_terms]
        new = merged(part, *splits)
        loses_lines = part.is_conflict and new is not None and not _keeps_lines(part, new, is_code=is_code)
        result.append(replace(part, merged=None if loses_lines else new))
    return with_few_conflicts(_with_headings(result))


def _keeps_lines(part: Part, merged: str, *, is_code: bool) -> bool:
    """Return whether the lines of a merged part are code, or items of a list, a quotation or a table, as in a side."""
    base, mine, theirs, new = (
        set(_lines_of_code(text) if is_code else (re.sub(r"\d+", "1", mark) for mark in _MARK.findall(text)))
        for text in (part.base, part.mine, part.theirs, merged)
    )
    return new <= mine | theirs if is_code else new.isdisjoint(base - (mine & theirs))


def _lines_of_code(text: str) -> Iterator[tuple[str, str]]:
    """Yield each line with the fence above it."""
    fence = ""
    for line in split_lines(text):
        yield line, fence
        fence = _fence_after(line, fence)


def _outline(text: str) -> list[bool]:
    """Return whether each block of a text is a heading."""
    return [_is_heading(block) for block in split_blocks(text) if is_block(block)]


def _adds_text(side: str, merged: str) -> bool:
    """Return whether a block above the first heading of a merged part is not an edit of one of the side."""
    old, above = (
        list(takewhile(lambda block: not _is_heading(block), filter(is_block, split_blocks(text))))
        for text in (side, merged)
    )
    known, texts = _terms(side), map(_terms, above)
    return len(above) > len(old) or any(2 * len(terms & known) < len(terms) for terms in texts)


def _replaces(base: str, text: str) -> bool:
    """Return whether a text has words, but none of the base."""
    terms = _terms(text)
    return bool(terms) and terms.isdisjoint(_terms(base))


def _terms(text: str) -> set[str]:
    """Return the words of a text without the fences of code and their languages."""
    return set(words("".join(line for line in split_lines(text) if not _FENCE.match(line))))


def _with_headings(parts: Sequence[Part]) -> list[Part]:
    """Make additions of a side a conflict that would be below a heading which the other side adds in this section."""
    result, start, adds_heading = list[Part](), 0, ""
    for part in parts:
        both_changed = part.base not in (part.mine, part.theirs) and part.mine != part.theirs
        is_changed = part.merged != part.base
        can_add = is_changed and any(sign in (part.merged or "") for sign in ("#", "\n=", "\n-"))
        if not can_add and not adds_heading:
            result.append(part)
            continue
        base, own, other, new = (_outline(text or "") for text in (part.base, part.mine, part.theirs, part.merged))
        adds_text = bool(adds_heading) and is_changed and _adds_text(getattr(part, adds_heading), part.merged or "")
        sides = ((own, other, part.theirs), (other, own, part.mine)) if both_changed else ()
        if adds_text or any(
            sum(outline) > sum(base) and (len(second) > len(base) or _replaces(part.base, text))
            for outline, second, text in sides
        ):
            start = start if adds_text else len(result)
            result[start:] = [conflict_of([*result[start:], part])]
            adds_heading = ""
            continue
        # A side can replace a heading that the other side removes.
        floors = [min(sum(base), sum(outline)) for outline in (other, own)] if both_changed else [sum(base)] * 2
        adders = [
            name
            for name, outline, floor in zip(("mine", "theirs"), (own, other), floors, strict=True)
            if sum(outline) > floor
        ]
        # A heading that a side only renames can be the one of the section before.
        if adders or part.is_conflict or (any(new) and not is_changed):
            adds_heading = adders[0] if len(adders) == 1 else ""
            start = len(result)
        result.append(part)
    return result
