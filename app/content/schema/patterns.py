"""Patterns of file names: `*` matches within a folder, `**/` any number of folders, `{a,b}` one of several texts.

A match takes linear time for each part of a pattern: it computes the set of positions that the part can reach.
"""

import re
from collections.abc import Callable
from functools import lru_cache

from app.content.schema.model import Collection

MAX_PATTERN, MAX_WILDCARDS, MAX_ALTERNATIVES = 200, 8, 16
_PARTS = re.compile(r"\*\*/|\*\*|\*|\{[^{}]*\}|[^*{]+|\{")
Step = Callable[[str, set[int]], set[int]]


def matches(collection: Collection, path: str) -> bool:
    """Return whether a path of the repository belongs to the collection."""
    prefix = f"{collection.folder}/" if collection.folder else ""
    return path.startswith(prefix) and _is_match(collection.pattern, path[len(prefix) :])


def is_pattern(text: str) -> bool:
    """Return whether a text can be used as a pattern."""
    is_short = 0 < len(text) <= MAX_PATTERN and text.count("*") <= MAX_WILDCARDS
    return is_short and text.count(",") <= MAX_ALTERNATIVES and "\0" not in text


def _is_match(pattern: str, path: str) -> bool:
    if not is_pattern(pattern):
        return path == pattern
    positions = {0}
    for step in _steps(pattern):
        positions = step(path, positions)
        if not positions:
            return False
    return len(path) in positions


@lru_cache(maxsize=512)
def _steps(pattern: str) -> tuple[Step, ...]:
    """Return a function for each part of a pattern. It maps the positions before the part to those after it."""
    return tuple(map(_step, _PARTS.findall(pattern)))


def _step(part: str) -> Step:
    if part == "**/":
        return _across_folders
    if part == "**":
        return _anywhere
    if part == "*":
        return _within_folder
    is_list = part.startswith("{") and part.endswith("}")
    texts = part[1:-1].split(",") if is_list else [part]

    def after_text(path: str, positions: set[int]) -> set[int]:
        return {start + len(text) for start in positions for text in texts if path.startswith(text, start)}

    return after_text


def _anywhere(path: str, positions: set[int]) -> set[int]:
    return set(range(min(positions), len(path) + 1))


def _within_folder(path: str, positions: set[int]) -> set[int]:
    reached: set[int] = set()
    for start in sorted(positions):
        if start not in reached:
            end = path.find("/", start)
            reached.update(range(start, (end if end >= 0 else len(path)) + 1))
    return reached


def _across_folders(path: str, positions: set[int]) -> set[int]:
    reached: set[int] = set()
    for first in positions:
        start = first
        while start not in reached:
            reached.add(start)
            end = path.find("/", start)
            if end > start:
                start = end + 1
    return reached
