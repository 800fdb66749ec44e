"""Validation of branch names and commit shas, and the message of the first commit."""

import re

from app.core.paths import has_hidden_characters

BRANCHES, TAGS = "refs/heads/", "refs/tags/"

FIRST_MESSAGE = "Add files"
"""The message of the commit with which the service creates a repository."""

MAX_NAME_BYTES = 255
MAX_COMPONENT_BYTES = 250  # A file name has at most 255 bytes, and Git appends ".lock".

_SHA = re.compile(r"[0-9a-f]{40}")
_FORBIDDEN = re.compile(r"[\x00-\x20\x7f~^:?*\[\\]|\.\.|@\{|//")


def is_sha(text: str) -> bool:
    """Return whether `text` is a complete object name: 40 lower-case hexadecimal digits."""
    return _SHA.fullmatch(text) is not None


def is_branch_name(name: str) -> bool:
    """Return whether `name` is a valid branch name by the rules of `git check-ref-format --branch`.

    Names that Git accepts but reads differently (`HEAD`, `refs/…`), cannot store as files, or shows with other
    characters are also refused.
    """
    if not name or name in ("@", "HEAD") or name.startswith(("-", "/", "refs/")) or name.endswith(("/", ".")):
        return False
    if _FORBIDDEN.search(name) is not None or has_hidden_characters(name):
        return False
    return _fits(name) and all(map(_is_component, name.split("/")))


def _is_component(part: str) -> bool:
    return not part.startswith(".") and not part.endswith(".lock") and len(part.encode()) <= MAX_COMPONENT_BYTES


def _fits(name: str) -> bool:
    try:
        return len(name.encode()) <= MAX_NAME_BYTES
    except UnicodeEncodeError:  # A lone surrogate.
        return False
