"""The text of a file as an editor shows it: front matter and body. A new body keeps the line ends of unchanged lines."""

import difflib
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from app.content.filetypes import file_type
from app.content.front_matter.editor import edit_front_matter
from app.content.front_matter.reader import LANGUAGES, find_block, split_front_matter
from app.content.text import decode

_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")
_LINE_END = re.compile(r"\r\n|\r|\n")
_MARK = b"\xef\xbb\xbf"


@dataclass(frozen=True)
class PageText:
    """A file as text. `values` is None without front matter; `problem` is the reason why it cannot be read."""

    values: dict[str, Any] | None
    body: str
    problem: str | None = None


def read_page(path: str, data: bytes) -> PageText | None:
    """Return the front matter and the body of a file, or None if it is not UTF-8 text."""
    text, encoding = decode(data)
    if text is None or encoding not in ("utf-8", "utf-8-sig"):
        return None
    start, values, problem = _body_start(path, text)
    return PageText(values, text[start:], problem)


def write_page(
    path: str, data: bytes, body: str, changes: Mapping[str, Any] | None = None, unset: Sequence[str] = ()
) -> bytes:
    """Return the file with another body and other front matter values. Lines that are equal keep every byte.

    Raises:
        UnsupportedEdit: the front matter cannot be edited without other changes.
        ValueError: the file is not UTF-8 text.
    """
    edited = edit_front_matter(path, data, changes or {}, unset) if changes or unset else data
    text, encoding = decode(edited)
    if text is None or encoding not in ("utf-8", "utf-8-sig"):
        raise ValueError("the file is not UTF-8 text")
    start, _, _ = _body_start(path, text)
    mark = _MARK if encoding == "utf-8-sig" else b""
    return mark + (text[:start] + with_line_ends(text[start:], body)).encode()


def with_line_ends(original: str, edited: str) -> str:
    """Return an edited text with the line ends of the original. Browsers send CRLF for every line end of a form."""
    plain = _LINE_END.sub("\n", edited)
    if plain == _LINE_END.sub("\n", original):
        return original
    ends = {match[0] for match in _LINE_END.finditer(original)}
    if len(ends) <= 1:
        return plain.replace("\n", ends.pop()) if ends else plain
    return "".join(_matched(_LINE.findall(original), _LINE.findall(plain)))


def _matched(original: list[str], edited: list[str]) -> list[str]:
    """Return the edited lines, and the original ones where both are equal but for their line ends."""
    ends = Counter(match[0] for line in original for match in _LINE_END.finditer(line))
    usual = ends.most_common(1)[0][0]
    bare = [line.rstrip("\r\n") for line in original], [line.rstrip("\r\n") for line in edited]
    result: list[str] = []
    for tag, start, end, other, last in difflib.SequenceMatcher(None, *bare, autojunk=False).get_opcodes():
        lines = original[start:end] if tag == "equal" else [line.replace("\n", usual) for line in edited[other:last]]
        result += lines
    if result and edited and not edited[-1].endswith("\n"):
        result[-1] = result[-1].rstrip("\r\n")
    return result


def _body_start(path: str, text: str) -> tuple[int, dict[str, Any] | None, str | None]:
    """Return the position of the body, and the values or the problem of the front matter before it."""
    if file_type(path).language not in LANGUAGES:
        return 0, None, None
    front = split_front_matter(text, has_notation=True)
    block = find_block(text) if front.values is not None or front.problem is not None else None
    if block is None or front.problem is not None:
        return 0, None, front.problem
    return block.body, front.values, None
