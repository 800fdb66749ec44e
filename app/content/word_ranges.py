"""The words in which two versions of a line differ."""

import re
from functools import cache

from app.content.marks import marks
from app.content.sequence_diff import equal_parts, find_changes

MAX_COMPARISON_TOKENS = 40_000
"""Lines after this number of words, spaces and signs have no ranges: a comparison of all lines would take too long."""
MIN_RATIO = 0.3
"""Lines with fewer common words have no ranges, because all of their text is new."""

Ranges = list[tuple[int, int]]


@cache
def _token() -> re.Pattern[str]:
    return re.compile(rf"[\w{marks()}]+|\s+|[^\w\s]")


class InlineDiff:
    """The changed words of the lines of one comparison. `is_truncated` is True after more than `max_tokens` of the lines."""

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
