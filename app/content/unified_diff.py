"""Hunks of a unified diff with line numbers and changed words."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from typing import NamedTuple

from app.content.sequence_diff import equal_parts, find_changes
from app.content.text import marks

MAX_COMPARISON_TOKENS = 40_000
"""Lines after this number of words, spaces and signs have no ranges: a comparison of all lines would take too long."""
MIN_RATIO = 0.3
"""Lines with fewer common words have no ranges, because all of their text is new."""

Ranges = list[tuple[int, int]]
MAX_LINES = 5_000
MAX_LINE_CHARACTERS = 2_000
MAX_CHARACTERS = 500_000
_HUNK = re.compile(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@ ?(.*)")
CONTEXT, ADDED, REMOVED = "context", "added", "removed"
_TYPES = {" ": CONTEXT, "+": ADDED, "-": REMOVED}


@cache
def _token() -> re.Pattern[str]:
    return re.compile(rf"[\w{marks()}]+|\s+|[^\w\s]")


class InlineDiff:
    """The changed words of the lines of one comparison.

    `is_truncated` is True after more than `max_tokens` of the lines.
    """

    def __init__(self, max_tokens: int = MAX_COMPARISON_TOKENS) -> None:
        self._remaining = max_tokens
        self.is_truncated = False

    def changed_ranges(self, before: str, after: str) -> tuple[Ranges, Ranges]:
        """Return the changed parts of both lines as start and end in characters.

        Both are empty if the lines differ too much, or after the limit.
        """
        if self.is_truncated:
            return [], []
        token = _token()
        old, new = token.findall(before), token.findall(after)
        self._remaining -= len(old) + len(new)
        if self._remaining < 0:
            self.is_truncated = True
            return [], []
        steps = find_changes(old, new)
        common = sum(len("".join(old[part.start : part.stop])) for part, _ in equal_parts(steps, len(old)))
        if 2 * common < MIN_RATIO * (len(before) + len(after)):
            return [], []
        old_starts, new_starts = _starts(old), _starts(new)
        return (
            [(old_starts[step.start], old_starts[step.end]) for step in steps if step.start != step.end],
            [
                (new_starts[step.new_start], new_starts[step.new_end])
                for step in steps
                if step.new_start != step.new_end
            ],
        )


def _starts(tokens: list[str]) -> list[int]:
    """Return the position of each word and the end of the last one."""
    positions = [0]
    for token in tokens:
        positions.append(positions[-1] + len(token))
    return positions


@dataclass
class DiffLine:
    """One line of a diff. The numbers start at 1.

    `ranges` contains the start and end of each changed part of a changed line, in characters.
    """

    type: str
    text: str
    old_line: int | None
    new_line: int | None
    has_newline: bool = True
    ranges: Ranges = field(default_factory=list)


@dataclass
class Hunk:
    """Adjacent lines of a diff. `section` is the heading that Git puts behind the line numbers."""

    old_start: int
    old_lines: int
    new_start: int
    new_lines: int
    section: str
    lines: list[DiffLine] = field(default_factory=list)

    def to_dict(self) -> dict[str, object]:
        """Return the hunk as JSON values. `asdict` would copy every range."""
        return vars(self) | {"lines": [vars(line) for line in self.lines]}


class LineDiff(NamedTuple):
    """The hunks of one file.

    `truncated` is True if lines are missing because of a limit, `ranges_truncated` if ranges are.
    """

    hunks: list[Hunk]
    truncated: bool
    ranges_truncated: bool


def parse_hunks(diff: str) -> LineDiff:
    """Parse the hunks of a unified diff."""
    hunks: list[Hunk] = []
    truncated, characters = False, 0
    for number, raw in enumerate(diff.removesuffix("\n").split("\n", MAX_LINES) if diff else []):
        characters += min(len(raw), MAX_LINE_CHARACTERS)
        if number >= MAX_LINES or characters > MAX_CHARACTERS:
            truncated = True
            break
        if heading := _HUNK.match(raw):
            old, old_count, new, new_count, section = heading.groups()
            hunks.append(Hunk(int(old), int(old_count or 1), int(new), int(new_count or 1), section.strip()))
            next_old, next_new = int(old), int(new)
        elif raw.startswith("\\") and hunks and hunks[-1].lines:
            hunks[-1].lines[-1].has_newline = False
        elif hunks and raw[:1] in _TYPES:
            kind = _TYPES[raw[0]]
            old_line, new_line = (None if kind == ADDED else next_old), (None if kind == REMOVED else next_new)
            next_old, next_new = next_old + (kind != ADDED), next_new + (kind != REMOVED)
            truncated = truncated or len(raw) > MAX_LINE_CHARACTERS + 1
            hunks[-1].lines.append(DiffLine(kind, raw[1 : MAX_LINE_CHARACTERS + 1], old_line, new_line))
    inline = InlineDiff()
    for hunk in hunks:
        _mark_changes(hunk.lines, inline)
    return LineDiff(hunks, truncated, inline.is_truncated)


def _mark_changes(lines: list[DiffLine], inline: InlineDiff) -> None:
    """Compare each removed line with the added line at the same position of its block."""
    for removed, added in _blocks(lines):
        for before, after in zip(removed, added, strict=False):
            before.ranges, after.ranges = inline.changed_ranges(before.text, after.text)


def _blocks(lines: list[DiffLine]) -> Iterator[tuple[list[DiffLine], list[DiffLine]]]:
    """Yield each group of removed lines with the added lines that follow them."""
    removed: list[DiffLine] = []
    added: list[DiffLine] = []
    for line in [*lines, DiffLine(CONTEXT, "", None, None)]:
        if added and line.type != ADDED:
            yield removed, added
        if line.type == CONTEXT or (added and line.type == REMOVED):
            removed, added = [], []
        if line.type == REMOVED:
            removed.append(line)
        elif line.type == ADDED:
            added.append(line)
