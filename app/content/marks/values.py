"""Texts of front matter and data files with their positions."""

from typing import NamedTuple

Path = tuple[str | int, ...]
"""The keys and indexes that lead to a value."""


class StringValue(NamedTuple):
    """A string of a document. Its content ends at `end`, before the closing quote."""

    path: Path
    value: str
    start: int
    end: int


def pointer_of(path: Path) -> str:
    """Return a path as a JSON pointer (RFC 6901)."""
    return "".join("/" + str(step).replace("~", "~0").replace("/", "~1") for step in path)
