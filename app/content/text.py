"""Text encodings, line counts, and combining marks: vowel signs, tone marks and accents."""

import codecs
import re
import unicodedata
from functools import cache

# Control characters that do not occur in text. Tab, line feed, form feed, carriage return and escape do.
_CONTROL = re.compile(rb"[\x00-\x08\x0b\x0e-\x1a\x1c-\x1f\x7f]")
_BLOCKS = (
    (0x0300, 0x1E00),
    (0x20D0, 0x2100),
    (0x2CE0, 0x3100),
    (0xA660, 0xAC00),
    (0xFB1E, 0xFB1F),
    (0xFE00, 0xFE30),
    (0x101FD, 0x12000),
    (0x13440, 0x13460),
    (0x16100, 0x17000),
    (0x1BC90, 0x1BD00),
    (0x1CF00, 0x1D300),
    (0x1DA00, 0x1E960),
    (0xE0100, 0xE01F0),
)
"""Ranges with all marks. Other ranges are not searched, which would take longer than the start of a command."""


def decode(data: bytes, *, whole: bool = True) -> tuple[str | None, str | None]:
    """Return the text and its encoding: `utf-8`, `utf-8-sig`, `utf-16` (by its mark) or `latin-1`.

    Binary data is (None, None).

    A byte order mark is not part of the text. `whole` is False if the end may be cut off inside a character.
    """
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        text = _decoded(data, "utf-16", whole=whole)
        return (text, "utf-16") if text is not None else (None, None)
    if b"\0" in data:
        return None, None
    text = _decoded(data, "utf-8-sig", whole=whole)
    if text is not None:
        return text, "utf-8-sig" if data.startswith(codecs.BOM_UTF8) else "utf-8"
    return (None, None) if _CONTROL.search(data) else (data.decode("latin-1"), "latin-1")


def count_lines(data: bytes) -> int:
    """Count the lines as editors do: a last line without a line end counts, an empty file has none."""
    return data.count(b"\n") + (bool(data) and not data.endswith(b"\n"))


def _decoded(data: bytes, encoding: str, *, whole: bool) -> str | None:
    try:
        return codecs.getincrementaldecoder(encoding)("strict").decode(data, final=whole)
    except UnicodeDecodeError:
        return None


@cache
def marks() -> str:
    """Return the ranges of all combining marks, for a character class of an expression."""
    codes = [code for start, end in _BLOCKS for code in range(start, end) if unicodedata.category(chr(code))[0] == "M"]
    ends = [code for code, after in zip(codes, [*codes[1:], 0], strict=True) if after != code + 1]
    starts = [code for code, before in zip(codes, [0, *codes[:-1]], strict=True) if before != code - 1]
    return "".join(f"{chr(start)}-{chr(end)}" for start, end in zip(starts, ends, strict=True))


@cache
def term_pattern() -> re.Pattern[str]:
    """Return the expression of a word: letters and digits of any script with their marks."""
    return re.compile(rf"[^\W_](?:[^\W_]|[{marks()}])*")
