"""Detection of text encodings, and line counts."""

import codecs
import re

# Control characters that do not occur in text. Tab, line feed, form feed, carriage return and escape do.
_CONTROL = re.compile(rb"[\x00-\x08\x0b\x0e-\x1a\x1c-\x1f\x7f]")


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
