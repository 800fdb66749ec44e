"""The words in which two versions of a line differ."""

import difflib
import re

MAX_TOKENS = 400
"""Longer lines have no ranges: a comparison would take too long."""
MIN_RATIO = 0.3
"""Lines with fewer common words have no ranges, because all of their text is new."""

_TOKEN = re.compile(r"\w+|\s+|[^\w\s]")

Ranges = list[tuple[int, int]]


def changed_ranges(before: str, after: str) -> tuple[Ranges, Ranges]:
    """Return the changed parts of both lines as start and end in characters. Both are empty if the lines differ too much."""
    old, new = _TOKEN.findall(before), _TOKEN.findall(after)
    if not old or not new or max(len(old), len(new)) > MAX_TOKENS:
        return [], []
    matcher = difflib.SequenceMatcher(None, old, new, autojunk=False)
    common = sum(len("".join(old[match.a : match.a + match.size])) for match in matcher.get_matching_blocks())
    if 2 * common < MIN_RATIO * (len(before) + len(after)):
        return [], []
    old_starts, new_starts = _starts(old), _starts(new)
    steps = [step for step in matcher.get_opcodes() if step[0] != "equal"]
    return (
        [(old_starts[start], old_starts[end]) for _, start, end, _, _ in steps if start != end],
        [(new_starts[start], new_starts[end]) for _, _, _, start, end in steps if start != end],
    )


def _starts(tokens: list[str]) -> list[int]:
    """Return the position of each word and the end of the last one."""
    positions = [0]
    for token in tokens:
        positions.append(positions[-1] + len(token))
    return positions
