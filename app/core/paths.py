"""Validation of file paths (limits, section 1)."""

import re
import unicodedata
from functools import lru_cache

from app.core.errors import ErrorMessage
from app.core.limits import InputLimits

MAX_PATH_BYTES = InputLimits.path_bytes
MAX_SEGMENT_BYTES = InputLimits.path_segment_bytes

_BIDIRECTIONAL = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
# HFS+ skips and NTFS trims these characters when it looks a name up. With them a name can open the `.git` folder,
# so `git fsck` and all hosts refuse it.
_HFS_IGNORES = dict.fromkeys((*range(0x200C, 0x2010), *range(0x202A, 0x202F), *range(0x206A, 0x2070), 0xFEFF))
_GIT_FOLDER = re.compile(r"(\.git|git~1)[ .]*(:.*)?", re.IGNORECASE | re.DOTALL)


def path_error(path: str) -> str | None:
    """Return the error of a file path as a sentence, or None for a valid relative path.

    A path is valid UTF-8 of 1 to 1,024 bytes, as in Git. It is never normalised, decoded or trimmed. The paths of a
    save are checked at the request and at the commit, so the last results are cached, except those of longer texts.
    """
    return cached_error(path) if len(path) <= MAX_PATH_BYTES else _error(path)


def folded(path: str) -> str:
    """Return the form in which two paths are equal on Windows and macOS, which ignore case and the form of letters."""
    if path.isascii():
        return path.lower()
    text = unicodedata.normalize("NFC", path)
    # Unicode's simple case folding: a letter never becomes two, so that `ß` is not `ss`.
    letters = ((letter, letter.casefold()) for letter in text)
    return unicodedata.normalize("NFC", "".join(own if len(own) == 1 else letter for letter, own in letters))


def _error(path: str) -> str | None:
    try:
        size = len(path.encode())
    except UnicodeEncodeError:
        return "The path is not valid Unicode"
    if not 1 <= size <= MAX_PATH_BYTES:
        return f"The path must have 1 to {MAX_PATH_BYTES:,} bytes"
    if "\\" in path:
        return "The path must not contain a backslash"
    if has_hidden_characters(path):
        return "The path must not contain control or bidirectional characters"
    return next(filter(None, map(_segment_error, path.split("/"))), None)


cached_error = lru_cache(maxsize=1_024)(_error)


def has_hidden_characters(text: str) -> bool:
    """Return whether a text contains control or bidirectional characters."""
    return not text.isprintable() and any(map(_is_hidden, text))


def _is_hidden(character: str) -> bool:
    return character in _BIDIRECTIONAL or (not character.isprintable() and unicodedata.category(character) == "Cc")


def _segment_error(segment: str) -> str | None:
    if segment in ("", ".", ".."):
        return ErrorMessage("The path must be relative, without empty, “.” or “..” segments")
    if len(segment.encode()) > MAX_SEGMENT_BYTES:
        return f"A segment of the path must have at most {MAX_SEGMENT_BYTES} bytes"
    if _GIT_FOLDER.fullmatch(segment.translate(_HFS_IGNORES)):
        return ErrorMessage("The path must not be in a “.git” folder")
    return None
