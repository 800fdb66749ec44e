r"""Combining marks: vowel signs, tone marks and accents.

Python's `\w` does not include them, although they are parts of words.
"""

import re
import unicodedata
from functools import cache

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
