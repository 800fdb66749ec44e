"""Edits of front matter and their error, the comparison of values, and replacements in a text and its lists."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from app.content.front_matter.item_diff import (
    Insertion,
    ItemChange,
    Removal,
    Step,
    diff_items,
    find_moves,
    key_of,
    separate_moves,
)

_GAP = re.compile(r"\s*+,\s*+")
_LINE_TAIL = re.compile(r"[ \t]*+(,?)[ \t]*+(#[^\n]*)?\r?$")


class UnsupportedEdit(ValueError):
    """The edit cannot be made without other changes. The message contains the reason."""


@dataclass(frozen=True)
class KeyEdit:
    """Keys to set and keys to remove. `old` contains the present values."""

    values: Mapping[str, object]
    unset: Sequence[str]
    newline: str
    old: Mapping[str, object]


@dataclass(frozen=True)
class Changed:
    """The values of a mapping before and after an edit."""

    before: Mapping[str, object]
    after: Mapping[str, object]

    def __contains__(self, key: object) -> bool:
        """Return whether the value of a key differs, or exists on one side only."""
        is_common = key in self.before and key in self.after
        return not (is_common and values_equal(self.before[str(key)], self.after[str(key)]))

    def within(self, key: str) -> "Changed | None":
        """Return the change of the mapping at a key, or None if one side has another value."""
        before, after = self.before.get(key), self.after.get(key)
        return Changed(before, after) if isinstance(before, Mapping) and isinstance(after, Mapping) else None


def values_equal(value: object, other: object) -> bool:
    """Return True if two JSON values are equal. Whole numbers are equal with and without `.0`."""
    if isinstance(value, bool) or isinstance(other, bool):
        return value is other
    if isinstance(value, Mapping) and isinstance(other, Mapping):
        return value.keys() == other.keys() and all(values_equal(value[key], other[key]) for key in value)
    if isinstance(value, list) and isinstance(other, list):
        return len(value) == len(other) and all(map(values_equal, value, other))
    are_texts = isinstance(value, str) and isinstance(other, str)
    is_comparable = type(value) is type(other) or are_texts or (_is_number(value) and _is_number(other))
    return is_comparable and value == other


def positions_of(keys: Iterable[str]) -> dict[str, int]:
    """Return the position of each key."""
    return {key: position for position, key in enumerate(keys)}


def _is_number(value: object) -> bool:
    return isinstance(value, int | float)


class Piece(NamedTuple):
    """Replacement of `text[start:end]` by `new`."""

    start: int
    end: int
    new: str


class Span(NamedTuple):
    """Position of an item, without its separators."""

    start: int
    end: int


def apply_pieces(text: str, pieces: Sequence[Piece]) -> str:
    """Return the text with all replacements.

    Raises:
        UnsupportedEdit: two replacements overlap.
    """
    result, position = [], 0
    for piece in sorted(pieces, key=lambda piece: piece[:2]):
        if piece.start < position:
            raise UnsupportedEdit("The changes of the front matter overlap and cannot be made separately")
        result += [text[position : piece.start], piece.new]
        position = piece.end
    return "".join([*result, text[position:]])


def edited_part(text: str, start: int, end: int, pieces: Sequence[Piece]) -> str:
    """Return a part of a text with replacements that are inside of it."""
    return apply_pieces(text[start:end], [Piece(piece.start - start, piece.end - start, piece.new) for piece in pieces])


class SeparatedItems:
    """Items between brackets. `may_end_with_comma` is True if the language permits a comma after the last item."""

    def __init__(self, text: str, spans: Sequence[Span], newline: str, *, may_end_with_comma: bool) -> None:
        self._text, self._spans, self._newline = text, spans, newline
        self._may_end_with_comma = may_end_with_comma

    def pieces(
        self, steps: Sequence[Step], change: Callable[[ItemChange], Sequence[Piece]], write: Callable[[int], str]
    ) -> Iterator[Piece]:
        """Yield the replacements of the steps. `change` edits one item, `write` returns the text of a new one."""
        removed = {step.index for step in steps if isinstance(step, Removal)}
        for step in steps:
            if isinstance(step, ItemChange):
                yield from change(step)
        yield from self._removals(removed)
        for index in sorted({step.index for step in steps if isinstance(step, Insertion)}):
            new = [write(step.new) for step in steps if isinstance(step, Insertion) and step.index == index]
            yield from self._insertion(index, new)

    def list_pieces(
        self,
        old: Sequence[object],
        new: Sequence[object],
        change: Callable[[int, Any, Any], Sequence[Piece]],
        write: Callable[[Any], str],
    ) -> Iterator[Piece]:
        """Yield the replacements that make one list from another. Moved and repeated items keep their bytes.

        `change` edits the item at a position, `write` returns the text of a new one.
        """
        steps = diff_items(old, new)
        moves, positions = find_moves(old, new, steps), {key_of(item): at for at, item in enumerate(old)}

        def change_item(step: ItemChange) -> Sequence[Piece]:
            return change(step.index, old[step.index], new[step.new])

        def text_of(index: int) -> str:
            value = new[index]
            at = moves.get(index, positions.get(key_of(value)))
            if at is None:
                return write(value)
            pieces = [] if values_equal(old[at], value) else change(at, old[at], value)
            return edited_part(self._text, *self._spans[at], pieces)

        return self.pieces(separate_moves(steps, moves), change_item, text_of)

    def _removals(self, removed: set[int]) -> Iterator[Piece]:
        if not removed:
            return
        if self._may_end_with_comma and all(self._own_line(index) for index in removed):
            for index in removed:
                yield Piece(*self._line(index), "")
            return
        for first in sorted(index for index in removed if index - 1 not in removed):
            last = first
            while last + 1 in removed:
                last += 1
            yield self._run(first, last)

    def _run(self, first: int, last: int) -> Piece:
        """Return the removal of neighbours with one separator. Text between them must not be a comment."""
        spans = self._spans
        start, end = max(first - 1, 0), min(last + 1, len(spans) - 1)
        for index in range(start, end):
            if not _GAP.fullmatch(self._text, spans[index].end, spans[index + 1].start):
                raise UnsupportedEdit("A comment in a list of the front matter prevents the removal of an item")
        if last + 1 < len(spans):
            return Piece(spans[first].start, spans[last + 1].start, "")
        return Piece(spans[first - 1].end, spans[last].end, "")

    def _insertion(self, index: int, new: Sequence[str]) -> Iterator[Piece]:
        spans = self._spans
        nearest = min(index, len(spans) - 1)
        margin = self._margin(nearest)
        separator = self._separator() if margin is None else f",{self._newline}{margin}"
        if index < len(spans) and (index == 0 or margin is not None):
            yield Piece(spans[index].start, spans[index].start, separator.join([*new, ""]))
            return
        end = spans[index - 1].end
        tail = self._tail(end)
        if margin is None or tail is None:
            yield Piece(end, end, separator.join(["", *new]))
            return
        if not tail[1]:
            yield Piece(end, end, ",")
        line_end = tail.end()
        line_end -= self._text[:line_end].endswith("\r")
        yield Piece(line_end, line_end, f"{self._newline}{margin}{separator.join(new)}{tail[1]}")

    def _separator(self) -> str:
        """Return a comma, and a space unless the first two items have none."""
        gap = self._text[self._spans[0].end : self._spans[1].start] if len(self._spans) > 1 else ""
        return "," if gap == "," else ", "

    def _margin(self, index: int) -> str | None:
        """Return the indentation of an item that starts its line, else None."""
        start = self._spans[index].start
        line = self._text.rfind("\n", 0, start) + 1
        before = self._text[line:start]
        return before if line and not before.strip() else None

    def _tail(self, end: int) -> re.Match[str] | None:
        """Match a separator and a comment up to the end of the line."""
        line_end = self._text.find("\n", end)
        return _LINE_TAIL.match(self._text, end, line_end) if line_end >= 0 else None

    def _own_line(self, index: int) -> bool:
        return self._margin(index) is not None and self._tail(self._spans[index].end) is not None

    def _line(self, index: int) -> Span:
        span = self._spans[index]
        return Span(self._text.rfind("\n", 0, span.start) + 1, self._text.index("\n", span.end) + 1)
