"""Patterns of file names: `*` matches within a folder, `**/` any number of folders, `{a,b}` one of several texts."""

import re
from functools import lru_cache

from app.content.schema.model import Collection

MAX_PATTERN = 200


def matches(collection: Collection, path: str) -> bool:
    """Return whether a path of the repository belongs to the collection."""
    prefix = f"{collection.folder}/" if collection.folder else ""
    return path.startswith(prefix) and _compiled(collection.pattern).fullmatch(path[len(prefix) :]) is not None


def is_pattern(text: str) -> bool:
    """Return whether a text can be used as a pattern."""
    return 0 < len(text) <= MAX_PATTERN and text.count("*") <= 8 and "\0" not in text


@lru_cache(maxsize=512)
def _compiled(pattern: str) -> re.Pattern[str]:
    parts = re.split(r"(\*\*/|\*\*|\*|\{[^{}]*\})", pattern)
    return re.compile("".join(map(_expression, parts)))


def _expression(part: str) -> str:
    if part == "**/":
        return "(?:[^/]+/)*"
    if part == "**":
        return ".*"
    if part == "*":
        return "[^/]*"
    if part.startswith("{") and part.endswith("}"):
        return f"(?:{'|'.join(map(re.escape, part[1:-1].split(',')))})"
    return re.escape(part)
