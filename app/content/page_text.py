"""The text of a file as an editor shows it: front matter and body.

A new body keeps the line ends of unchanged lines.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from app.content.filetypes import file_type
from app.content.front_matter.editor import edit_front_matter
from app.content.front_matter.reader import LANGUAGES, find_block, split_front_matter
from app.content.sequence_diff import equal_parts, find_changes
from app.content.text import decode

_MARK = b"\xef\xbb\xbf"


@dataclass(frozen=True)
class PageText:
    """A file as text. `values` is None without front matter; `problem` is the reason why it cannot be read."""

    values: dict[str, object] | None
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
    path: str, data: bytes, body: str, changes: Mapping[str, object] | None = None, unset: Sequence[str] = ()
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
    plain = _plain(edited)
    if plain == _plain(original):
        return original
    windows = original.count("\r\n")
    counts = {"\n": original.count("\n") - windows, "\r\n": windows, "\r": original.count("\r") - windows}
    ends = [end for end in sorted(counts, key=lambda end: counts[end], reverse=True) if counts[end]]
    if len(ends) <= 1:
        return plain.replace("\n", ends[0]) if ends else plain
    result = _matched(original.encode(), plain.encode(), ends[0].encode()).decode()
    # CR before an empty line with LF would become one line end.
    return result if _plain(result) == plain else plain.replace("\n", ends[0])


def _plain(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _matched(original: bytes, edited: bytes, usual: bytes) -> bytes:
    """Return the edited lines, and the original ones where both are equal but for their line ends.

    A line receives the line end of an original line with the same text, else that of the line that it replaces,
    else the usual one.
    """
    # The lines of bytes end at CR, LF and CRLF only. Those of a text end at further characters.
    lines, old, new = original.splitlines(keepends=True), original.splitlines(), edited.splitlines()
    if not lines[-1].endswith((b"\r", b"\n")):
        lines[-1] += usual
    by_text = {text: line for text, line in zip(old, lines, strict=True) if text}
    result = [by_text.get(text, text + usual) for text in new]
    changes = find_changes(old, new)
    for part, start in equal_parts(changes, len(old)):
        result[start : start + len(part)] = lines[part.start : part.stop]
    for change in changes:
        count = change.end - change.start
        if count not in (1, change.new_end - change.new_start):
            continue
        for index in range(change.new_start, change.new_end):
            position = change.start if count == 1 else change.start + index - change.new_start
            if new[index] not in by_text:
                result[index] = new[index] + lines[position][len(old[position]) :]
    joined = b"".join(result)
    return joined if edited.endswith(b"\n") else joined.rstrip(b"\r\n")


def _body_start(path: str, text: str) -> tuple[int, dict[str, object] | None, str | None]:
    """Return the position of the body, and the values or the problem of the front matter before it."""
    if file_type(path).language not in LANGUAGES:
        return 0, None, None
    front = split_front_matter(text, has_notation=True)
    block = find_block(text) if front.values is not None or front.problem is not None else None
    if block is None or front.problem is not None:
        return 0, None, front.problem
    return block.body, front.values, None
