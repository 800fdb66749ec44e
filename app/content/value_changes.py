"""The changes of values as a person reads them: items of lists, fields of these items, and words of texts."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import islice

from app.content.front_matter.item_diff import (
    MISSING,
    ChangedItem,
    ValueChange,
    are_identical,
    changed_items,
    changed_values,
)
from app.content.json_pointer import keys_of
from app.content.unified_diff import InlineDiff, Ranges

MAX_ITEMS = 4_000
"""The items of all lists of a comparison, those of both versions, that are compared. A longer list is one value."""

MAX_TOKENS = 400_000
"""Texts after this number of words, spaces and signs have no marks. Two texts of 200 kB are compared in 0.4 s."""

MAX_ROWS = 300
MAX_LISTED = 50
"""The changed items of a list that have rows."""


class RowState(StrEnum):
    """The kind of a row. The values of a moved item are its positions."""

    CHANGED = "changed"
    ADDED = "added"
    REMOVED = "removed"
    MOVED = "moved"
    FURTHER = "further"


@dataclass(frozen=True)
class ItemStep:
    """An item of a list in a path: its number, and its value, of which a page shows the title."""

    number: int
    value: object


Path = tuple[str | ItemStep, ...]


@dataclass(frozen=True)
class ValueRow:
    """A changed value with its path. A side without it is `MISSING`.

    `removed` and `added` are the changed characters of texts. `is_long_list` is true for lists with too many items.
    The value of a row `FURTHER` is the number of changed items without a row.
    """

    path: Path
    before: object
    after: object
    state: RowState = RowState.CHANGED
    removed: Sequence[tuple[int, int]] = ()
    added: Sequence[tuple[int, int]] = ()
    is_long_list: bool = False


class ValueComparison:
    """The rows of changed values. The comparison of all of them has one budget.

    `is_complete` is false if rows are missing.
    """

    def __init__(self, *, max_items: int = MAX_ITEMS, max_tokens: int = MAX_TOKENS) -> None:
        self._remaining, self._inline = max_items, InlineDiff(max_tokens)
        self.is_complete = True

    def rows(self, changes: Iterable[ValueChange]) -> list[ValueRow]:
        """Return the rows of changed values, at most 300."""
        rows = list(islice(self._fields((), changes), MAX_ROWS + 1))
        self.is_complete = len(rows) <= MAX_ROWS
        return rows[:MAX_ROWS]

    def changed_ranges(self, before: str, after: str) -> tuple[Ranges, Ranges]:
        """Return the changed words of two texts as positions of characters."""
        return self._inline.changed_ranges(before, after)

    def _fields(self, path: Path, changes: Iterable[ValueChange]) -> Iterator[ValueRow]:
        for change in changes:
            yield from self._value((*path, *keys_of(change.pointer)), change.before, change.after)

    def _value(self, path: Path, before: object, after: object) -> Iterator[ValueRow]:
        if isinstance(before, Mapping) and isinstance(after, Mapping):
            yield from self._fields(path, changed_values(before, after))
        elif isinstance(before, list) and isinstance(after, list):
            yield from self._list(path, before, after)
        elif isinstance(before, str) and isinstance(after, str):
            removed, added = self.changed_ranges(before, after)
            yield ValueRow(path, before, after, removed=removed, added=added)
        else:
            yield ValueRow(path, before, after)

    def _list(self, path: Path, before: list[object], after: list[object]) -> Iterator[ValueRow]:
        self._remaining -= len(before) + len(after)
        if self._remaining < 0:
            yield ValueRow(path, before, after, is_long_list=True)
            return
        changed = changed_items(before, after)
        for item in changed[:MAX_LISTED]:
            yield from self._item(path, item, before, after)
        if len(changed) > MAX_LISTED:
            yield ValueRow(path, None, len(changed) - MAX_LISTED, RowState.FURTHER)

    def _item(self, path: Path, item: ChangedItem, before: list[object], after: list[object]) -> Iterator[ValueRow]:
        if item.new is None:
            old = before[item.old or 0]
            yield ValueRow((*path, ItemStep((item.old or 0) + 1, old)), old, MISSING, RowState.REMOVED)
            return
        new = after[item.new]
        step = (*path, ItemStep(item.new + 1, new))
        if item.old is None:
            yield ValueRow(step, MISSING, new, RowState.ADDED)
            return
        if item.is_moved:
            yield ValueRow(step, item.old + 1, item.new + 1, RowState.MOVED)
        if not are_identical(before[item.old], new):
            yield from self._value(step, before[item.old], new)
