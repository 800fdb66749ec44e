"""What may stand as a branch name or a commit's sha; knows no repository."""

import re

MAX_NAME_BYTES = 255
MAX_COMPONENT_BYTES = 250  # a file name holds 255, and Git appends ".lock"

_SHA = re.compile(r"[0-9a-f]{40}")
_FORBIDDEN = re.compile(r"[\x00-\x20\x7f~^:?*\[\\]|\.\.|@\{|//")


def is_sha(text: str) -> bool:
    """Tell whether `text` is a whole object name: 40 lower-case hexadecimal digits."""
    return _SHA.fullmatch(text) is not None


def is_branch_name(name: str) -> bool:
    """Tell whether `name` may be a branch, by the rules of `git check-ref-format --branch`.

    Also refused: names that Git takes but reads as something else (`HEAD`, `refs/…`) or cannot store as files.
    """
    if not name or name in ("@", "HEAD") or name.startswith(("-", "/", "refs/")) or name.endswith(("/", ".")):
        return False
    return _FORBIDDEN.search(name) is None and _fits(name) and all(map(_is_component, name.split("/")))


def _is_component(part: str) -> bool:
    return not part.startswith(".") and not part.endswith(".lock") and len(part.encode()) <= MAX_COMPONENT_BYTES


def _fits(name: str) -> bool:
    try:
        return len(name.encode()) <= MAX_NAME_BYTES
    except UnicodeEncodeError:  # a lone surrogate
        return False
