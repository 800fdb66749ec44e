"""File contents of a given size that a process can compute again."""

import random

LINE = "Überschrift {number}: the quick brown fox jumps over the lazy dog.\n"


def content_of(kind: str, number: int, size: int) -> bytes:
    """Return `size` bytes of text or of arbitrary bytes; different for each number."""
    if kind == "binary":
        return random.Random(number * 31 + size).randbytes(size)
    line = LINE.format(number=number).encode()
    content = (line * (size // len(line) + 1))[:size].decode(errors="ignore").encode()
    return content.ljust(size, b".")
