"""The difference of two versions of a page as a person sees it: changed fields and paragraphs."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from app.content.data_text import read_data
from app.content.front_matter.item_diff import changed_values
from app.content.json_pointer import keys_of
from app.content.page_text import PageText, read_page
from app.content.sequence_diff import RangeChange, find_changes
from app.content.unified_diff import InlineDiff

MAX_PAIRS = 1_000_000
"""Above this number of pairs of paragraphs, all between the first and the last change is one change."""


_DESTINATION = re.compile(r"\]\([^()\n]*\)|\]:[^\n]*|<[^<>\s]*>")
_SYNTAX = re.compile(r"[ \t]*(?:[-+*>]|#{1,6}|\d{1,9}[.)])?[ \t]*")


@dataclass(frozen=True)
class TextChange:
    """Paragraphs that were replaced. `removed` and `added` are the changed characters of the texts."""

    before: str
    after: str
    paragraphs: int
    removed: Sequence[tuple[int, int]]
    added: Sequence[tuple[int, int]]


@dataclass(frozen=True)
class PageChanges:
    """The names of the changed fields at the top of the front matter or data file, and the changes of the text."""

    fields: tuple[str, ...]
    texts: tuple[TextChange, ...]

    @property
    def paragraphs(self) -> int:
        """The number of changed paragraphs."""
        return sum(change.paragraphs for change in self.texts)


def page_changes(path: str, before: bytes, after: bytes) -> PageChanges | None:
    """Return the changes between two versions of a page, or None if one of them is not text."""
    old, new = _sides(path, (before, after))
    if old is None or new is None:
        return None
    fields = dict.fromkeys(keys_of(change.pointer)[0] for change in changed_values(old.values, new.values))
    paragraphs, new_paragraphs = list(_paragraphs(old.body)), list(_paragraphs(new.body))
    inline = InlineDiff()
    changes = find_changes(paragraphs, new_paragraphs, max_pairs=MAX_PAIRS)
    return PageChanges(
        tuple(fields), tuple(_text_change(change, paragraphs, new_paragraphs, inline) for change in changes)
    )


def _sides(path: str, contents: Sequence[bytes]) -> list[PageText | None]:
    """Return the texts of versions. Those of a data file have values only, if all of them can be read."""
    values = [read_data(path, content) for content in contents]
    if None not in values:
        return [PageText(own, "") for own in values]
    return [read_page(path, content) for content in contents]


def _text_change(change: RangeChange, old: Sequence[str], new: Sequence[str], inline: InlineDiff) -> TextChange:
    removed, added = old[change.start : change.end], new[change.new_start : change.new_end]
    before, after = "\n\n".join(removed), "\n\n".join(added)
    return TextChange(before, after, max(len(removed), len(added)), *inline.changed_ranges(before, after))


def _paragraphs(text: str) -> Iterator[str]:
    """Yield the parts of a text between empty lines."""
    lines: list[str] = []
    for line in [*text.splitlines(), ""]:
        if line.strip():
            lines.append(line)
        elif lines:
            yield "\n".join(lines)
            lines = []


def with_marks(text: str, ranges: Sequence[tuple[int, int]], start_mark: str, end_mark: str) -> str:
    """Return Markdown with marks around the ranges, but not in the syntax of a line and in URLs."""
    result, at = [], 0
    for start, end in _without_destinations(text, ranges):
        for line_start, line_end in _lines(text, start, end):
            result += [text[at:line_start], start_mark, text[line_start:line_end], end_mark]
            at = line_end
    return "".join([*result, text[at:]])


def _without_destinations(text: str, ranges: Sequence[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Yield the parts of ascending ranges that are outside of URLs."""
    destinations = [match.span() for match in _DESTINATION.finditer(text)]
    number = 0
    for start, end in ranges:
        position = start
        while number < len(destinations) and destinations[number][0] < end:
            url_start, url_end = destinations[number]
            if position < url_start:
                yield position, url_start
            position = max(position, url_end)
            if url_end > end:
                break  # The next range can be inside of the same URL.
            number += 1
        if position < end:
            yield position, end


def _lines(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Yield the parts of a range that are in one line each, without the syntax at the start of the line."""
    while start < end:
        line_start, line_end = text.rfind("\n", 0, start) + 1, text.find("\n", start, end)
        line_end = end if line_end < 0 else line_end
        match = _SYNTAX.match(text, line_start)
        first = max(start, match.end() if match is not None else start)
        if first < line_end:
            yield first, line_end
        start = line_end + 1
