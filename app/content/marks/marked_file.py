"""Marks in the copy of a file of a site."""

import re
from collections.abc import Iterator, Mapping, Sequence

from app.content.data_text import is_data, read_data
from app.content.filetypes import file_type
from app.content.front_matter.reader import find_block, split_front_matter
from app.content.marks.characters import encode
from app.content.marks.html_marks import mark_html
from app.content.marks.markdown_marks import mark_markdown
from app.content.marks.paths import MAX_BYTES, PAGES, is_content
from app.content.marks.positions import MarkedFile, MarkInsertion
from app.content.marks.rules import MarkRules
from app.content.marks.value_marks import mark_values
from app.content.text import decode

_OTHER_FENCE = re.compile(r"\s*(---|\+\+\+|;;;)[ \t]*\w")
"""The start of front matter in a language that is not read, for example JavaScript."""
_CLOSINGS = {fence: re.compile(rf"^{re.escape(fence)}[ \t]*\r?$", re.MULTILINE) for fence in ("---", "+++", ";;;")}


def mark_file(path: str, data: bytes, first: int, rules: MarkRules) -> MarkedFile | None:
    """Return a file with a mark at the end of each text. The marks have the numbers from `first`.

    None: the file has no marks. It is no content, larger than `MAX_BYTES`, not UTF-8, or has no text.
    """
    if len(data) > MAX_BYTES or not is_content(path):
        return None
    text, encoding = decode(data)
    if text is None or encoding not in ("utf-8", "utf-8-sig"):
        return None
    insertions = list(_insertions(path, text, data, rules))
    if not insertions:
        return None
    offsets = tuple(insertion.offset for insertion in insertions)
    positions = tuple(insertion.position for insertion in insertions)
    return MarkedFile(mark_again(data, offsets, first), positions, offsets)


def mark_again(data: bytes, offsets: Sequence[int], first: int) -> bytes:
    """Return a file that was marked before, with marks at the same offsets and other numbers."""
    text, _ = decode(data)
    if text is None:
        raise ValueError("the file is not UTF-8 text")
    start = data[: len(data) - len(text.encode())]
    return start + _with_marks(text, offsets, first).encode()


def _insertions(path: str, text: str, data: bytes, rules: MarkRules) -> Iterator[MarkInsertion]:
    language = file_type(path).language or ""
    if is_data(path):
        values = read_data(path, data, has_notation=False)
        if values is not None:
            yield from _values(path, text, (language, 0, len(text)), values, rules)
        return
    front = split_front_matter(text)
    block = find_block(text) if front.values is not None else None
    code_end = _code_end(text) if block is None else 0
    if front.problem is not None or code_end is None:
        return
    if block is not None:
        yield from _values(path, text, block[:3], front.values, rules)
    start = block.body if block is not None else 0
    if language in PAGES:
        is_mdx = language == "mdx" or (language == "markdown" and rules.reads_markdown_as_mdx)
        yield from mark_markdown(text, start, is_mdx=is_mdx, code_end=code_end)
    elif block is not None or (not code_end and "content" in path.split("/")):
        yield from mark_html(text, start)


def _code_end(text: str) -> int | None:
    """Return the end of front matter that is not read, 0 without one, or None if it does not end.

    The editor shows it as a part of the body.
    """
    opening = _OTHER_FENCE.match(text)
    if opening is None:
        return 0
    closing = _CLOSINGS[opening[1]].search(text, opening.end())
    return closing.end() if closing is not None else None


def _values(
    path: str, text: str, block: tuple[str, int, int], values: Mapping[str, object] | None, rules: MarkRules
) -> Sequence[MarkInsertion]:
    return mark_values(text, *block, rules.for_file(path, values).is_text)


def _with_marks(text: str, offsets: Sequence[int], first: int) -> str:
    parts, position = list[str](), 0
    for number, offset in enumerate(offsets, first):
        parts += [text[position:offset], encode(number)]
        position = offset
    return "".join([*parts, text[position:]])
