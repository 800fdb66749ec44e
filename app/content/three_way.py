"""Comparison of two edits of one text: parts that agree, and parts in which both changed the same lines or items."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from io import StringIO
from operator import itemgetter

from app.content.sequence_diff import MAX_PAIRS, RangeChange, find_changes

MAX_CONFLICTS = 100
"""From this conflict on, the texts up to the last conflict are one conflict."""


@dataclass(frozen=True)
class Part:
    """Some lines of the three texts. `merged` is None if both edits changed them in different ways."""

    base: str
    mine: str
    theirs: str
    merged: str | None

    @property
    def is_conflict(self) -> bool:
        """True if a person must choose."""
        return self.merged is None


@dataclass(frozen=True)
class Replacement:
    """A value or text that replaces both sides of a conflict."""

    value: object


Choice = str | Replacement
"""The resolution of a conflict: `mine`, `theirs`, for text `both`, or another value."""

Diff = Callable[[str, str], Sequence[RangeChange]]


def changed_lines(old: str, new: str) -> list[RangeChange]:
    """Return the changes of the lines of a small text. Only a line feed ends a line, as in Git."""
    return find_changes(split_lines(old), split_lines(new))


def split_lines(text: str) -> list[str]:
    """Return the lines of a text with their ends. Only a line feed ends a line."""
    return list(StringIO(text))


def compare(base: str, mine: str, theirs: str, *, diff: Diff = changed_lines) -> list[Part]:
    """Split three texts into parts. The texts of each side, joined in order, are the complete text of that side.

    `diff` returns the changed lines of two texts. Edits of adjacent lines are one part, as in `git merge-file`.
    """
    lines = _Lines(base), _Lines(mine), _Lines(theirs)
    ranges = three_ranges(len(lines[0]), diff(base, mine), diff(base, theirs))
    texts = [tuple(side.text(part) for side, part in zip(lines, parts, strict=True)) for parts in ranges]
    return with_few_conflicts([_part(*sides) for sides in texts if any(sides)])


def compare_items(
    base: Sequence[str],
    mine: Sequence[str],
    theirs: Sequence[str],
    *,
    max_pairs: int = MAX_PAIRS,
    moves_changes: bool = True,
    separates_neighbours: bool = False,
) -> list[Part]:
    """Split three texts, given as their lines, blocks or words, into parts.

    With `separates_neighbours`, edits of adjacent items are separate parts. The caller checks the result.
    """
    sides = base, mine, theirs
    changes = (find_changes(base, side, max_pairs=max_pairs, moves_changes=moves_changes) for side in (mine, theirs))
    ranges = three_ranges(len(base), *changes, may_touch=separates_neighbours)
    texts = (
        ["".join(side[part.start : part.stop]) for side, part in zip(sides, parts, strict=True)] for parts in ranges
    )
    return [_part(*three) for three in texts if any(three)]


def merge(parts: Sequence[Part], choices: Sequence[str] = ()) -> str:
    """Join the parts.

    The nth conflict uses the side `choices[n]`: `mine`, `theirs` or `both`; `mine` without a choice.
    """
    remaining = iter(choices)
    return "".join(part.merged if part.merged is not None else _chosen(part, next(remaining, "mine")) for part in parts)


def _chosen(part: Part, choice: str) -> str:
    if choice == "both":
        end = "" if part.mine.endswith("\n") or not part.theirs or not part.mine else "\n"
        return part.mine + end + part.theirs
    return part.theirs if choice == "theirs" else part.mine


class _Lines:
    """The lines of a text."""

    def __init__(self, text: str) -> None:
        self._lines = text.split("\n")

    def __len__(self) -> int:
        return len(self._lines) - (not self._lines[-1])

    def text(self, lines: range) -> str:
        """Return the text of some lines with their ends."""
        end = "\n" if lines and lines.stop < len(self._lines) else ""
        return "\n".join(self._lines[lines.start : lines.stop]) + end


def three_ranges(
    length: int, mine: Sequence[RangeChange], theirs: Sequence[RangeChange], *, may_touch: bool = False
) -> Iterator[tuple[range, ...]]:
    """Yield the items of each part in the base, in mine and in theirs.

    Changes that overlap are one part, and those that touch unless they may touch.
    """
    end, offsets = 0, [0, 0]
    for group in _groups(mine, theirs, may_touch=may_touch):
        start = min(change.start for _, change in group)
        yield (range(end, start), *(range(end + offset, start + offset) for offset in offsets))
        end, before = max(change.end for _, change in group), list(offsets)
        for side, change in group:
            offsets[side] = change.new_end - change.end
        new = zip(before, offsets, strict=True)
        yield (range(start, end), *(range(start + first, end + last) for first, last in new))
    yield (range(end, length), *(range(end + offset, length + offset) for offset in offsets))


def _groups(
    mine: Sequence[RangeChange], theirs: Sequence[RangeChange], *, may_touch: bool
) -> Iterator[list[tuple[int, RangeChange]]]:
    """Yield the changes of each part, each with the number of its side."""
    group: list[tuple[int, RangeChange]] = []
    end = 0
    sides = [(0, change) for change in mine] + [(1, change) for change in theirs]
    for side, change in sorted(sides, key=itemgetter(1)):
        are_insertions = change.start == change.end and bool(group) and group[-1][1].start == end
        if group and (change.start > end or (may_touch and change.start == end and not are_insertions)):
            yield group
            group = []
        end = max(end, change.end)
        group.append((side, change))
    if group:
        yield group


def conflict_of(parts: Iterable[Part]) -> Part:
    """Join parts to a conflict."""
    base, mine, theirs = ("".join(texts) for texts in zip(*((p.base, p.mine, p.theirs) for p in parts), strict=True))
    return Part(base, mine, theirs, None)


def _part(base: str, mine: str, theirs: str) -> Part:
    return Part(base, mine, theirs, mine if theirs in (base, mine) else theirs if mine == base else None)


def with_few_conflicts(parts: list[Part]) -> list[Part]:
    """Return the parts with at most `MAX_CONFLICTS` conflicts. The last one contains all others."""
    conflicts = [number for number, part in enumerate(parts) if part.is_conflict]
    if len(conflicts) <= MAX_CONFLICTS:
        return parts
    first, last = conflicts[MAX_CONFLICTS - 1], conflicts[-1] + 1
    return [*parts[:first], conflict_of(parts[first:last]), *parts[last:]]
