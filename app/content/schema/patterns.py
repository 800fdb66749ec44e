"""Patterns of file names: `*` matches within a folder, `**/` any number of folders, `{a,b}` one of several texts.

A match takes a few operations on integers for each character of the pattern. The bits of an integer are positions in
the path, so that one operation moves all positions that the pattern can have reached.
"""

import re
from dataclasses import dataclass, field
from functools import lru_cache

from app.content.schema.model import Collection

MAX_PATTERN, MAX_WILDCARDS = 200, 8
_PARTS = re.compile(r"\*\*/|\*\*|\*|\{[^{}]*\}|[^*{]+|\{")
_WILDCARDS = ("**/", "**", "*")


def matches(collection: Collection, path: str) -> bool:
    """Return whether a path of the repository belongs to the collection. The path has no empty segments."""
    prefix = f"{collection.folder}/" if collection.folder else ""
    if collection.exclude and path.rpartition("/")[2] in collection.exclude:
        return False
    return path.startswith(prefix) and _is_match(collection.pattern, path[len(prefix) :])


def is_pattern(text: str) -> bool:
    """Return whether a text can be used as a pattern."""
    return 0 < len(text) <= MAX_PATTERN and text.count("*") <= MAX_WILDCARDS and "\0" not in text


@dataclass(frozen=True)
class _Path:
    """The positions of each character of a path as bits. `in_segments` are those that are not a slash."""

    end: int
    in_segments: int
    characters: dict[str, int] = field(default_factory=dict)

    def after_wildcard(self, wildcard: str, positions: int) -> int:
        """Return the positions after `*`, `**` or `**/`."""
        if wildcard == "*":
            # The carry of the addition moves each position to the next slash.
            moved: int = ((positions & self.in_segments) + self.in_segments) ^ self.in_segments
            return positions | moved
        lowest = positions & -positions
        if wildcard == "**":
            return -lowest & (2 * self.end - 1)
        inside = positions & self.in_segments
        return positions | ((self.characters.get("/", 0) << 1) & -((inside & -inside) << 2) if inside else 0)

    def after_text(self, text: str, positions: int) -> int:
        """Return the positions after a text."""
        for character in text:
            positions = (positions & self.characters.get(character, 0)) << 1
        return positions


@lru_cache(maxsize=64)
def _path(path: str) -> _Path:
    characters: dict[str, int] = {}
    for position, character in enumerate(path):
        characters[character] = characters.get(character, 0) | 1 << position
    end = 1 << len(path)
    return _Path(end, (end - 1) & ~characters.get("/", 0), characters)


@lru_cache(maxsize=512)
def _parts(pattern: str) -> tuple[str | tuple[str, ...], ...]:
    """Return the wildcards of a pattern, and the alternatives of its texts."""
    parts = _PARTS.findall(pattern)
    lists = [tuple(part[1:-1].split(",")) if part[0] == "{" and part[-1] == "}" else (part,) for part in parts]
    return tuple(part if part in _WILDCARDS else texts for part, texts in zip(parts, lists, strict=True))


def _is_match(pattern: str, path: str) -> bool:
    if not is_pattern(pattern):
        return path == pattern
    where, positions = _path(path), 1
    for part in _parts(pattern):
        if isinstance(part, str):
            positions = where.after_wildcard(part, positions)
        else:
            before, positions = positions, 0
            for text in part:
                positions |= where.after_text(text, before)
        if not positions:
            return False
    return bool(positions & where.end)
