"""Which file paths the service takes and gives (limits, section 1); knows no repository."""

import re
import unicodedata

MAX_PATH_BYTES = 1024
MAX_SEGMENT_BYTES = 255

_BIDIRECTIONAL = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
# What HFS+ skips and NTFS trims when it looks a name up: there these names open the repository's own folder as well,
# so `git fsck` and every host refuse them.
_HFS_IGNORES = dict.fromkeys((*range(0x200C, 0x2010), *range(0x202A, 0x202F), *range(0x206A, 0x2070), 0xFEFF))
_GIT_FOLDER = re.compile(r"(\.git|git~1)[ .]*(:.*)?", re.IGNORECASE | re.DOTALL)


def path_fault(path: str) -> str | None:
    """Say in a sentence what is wrong with a file path, or None when it is a plain relative one.

    A path is taken as Git has it: valid UTF-8 of 1 to 1,024 bytes, not normalised; never decoded, trimmed or mended.
    """
    try:
        size = len(path.encode())
    except UnicodeEncodeError:
        return "The path is not valid Unicode"
    if not 1 <= size <= MAX_PATH_BYTES:
        return f"The path must have 1 to {MAX_PATH_BYTES:,} bytes"
    if "\\" in path:
        return "The path must not hold a backslash"
    if any(map(_is_hidden, path)):
        return "The path must not hold control or bidirectional characters"
    return next(filter(None, map(_segment_fault, path.split("/"))), None)


def _is_hidden(character: str) -> bool:
    return character in _BIDIRECTIONAL or (not character.isprintable() and unicodedata.category(character) == "Cc")


def _segment_fault(segment: str) -> str | None:
    if segment in ("", ".", ".."):
        return "The path must be relative, without empty, “.” or “..” segments"
    if len(segment.encode()) > MAX_SEGMENT_BYTES:
        return f"A segment of the path must have at most {MAX_SEGMENT_BYTES} bytes"
    if _GIT_FOLDER.fullmatch(segment.translate(_HFS_IGNORES)):
        return "The path must not lead into a “.git” folder"
    return None
