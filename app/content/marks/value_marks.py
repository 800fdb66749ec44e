"""Marks in the texts of front matter and of data files."""

import json
import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence

from app.content.data_text import ROOT
from app.content.front_matter.reader import read_values
from app.content.json_pointer import pointer_of
from app.content.marks.characters import encode
from app.content.marks.markdown_marks import text_positions
from app.content.marks.positions import MarkInsertion, Position
from app.content.marks.string_values import Path, StringValue, json_strings, toml_strings, yaml_strings
from app.content.marks.text_ends import text_end

_LINE_END = re.compile(r"\r\n|\r|\n")
_READERS: dict[str, Callable[[str], Iterator[StringValue]]] = {
    "yaml": yaml_strings,
    "json": json_strings,
    "toml": toml_strings,
}
"""Readers of the languages that have positions."""


def mark_values(
    text: str, language: str, start: int, end: int, is_text: Callable[[Path, str, int], bool]
) -> list[MarkInsertion]:
    """Return the marks of the values in `text[start:end]`. `is_text` returns whether a value is prose, for some marks.

    The marked document is read, and has the same values with marks. If it has not, none is returned.
    """
    inner = text[start:end]
    needs_check = language != "yaml"
    line_starts = [0, *(match.end() for match in _LINE_END.finditer(text, 0, end))]
    insertions = list[MarkInsertion]()
    for string in _READERS[language](inner):
        positions = _positions_of(inner, string)
        if not is_text(string.path, string.value, len(positions)):
            continue
        for position in positions:
            lines = (bisect_right(line_starts, start + string.start), bisect_right(line_starts, start + position))
            # A mark inside of a line of text of YAML is always a part of the text.
            needs_check = needs_check or lines[0] != lines[1]
            insertions.append(MarkInsertion(start + position, Position(pointer_of(string.path), None, lines, "value")))
    insertions.sort(key=lambda insertion: insertion.offset)
    return insertions if not (needs_check and insertions) or _is_same(language, inner, start, insertions) else []


def _positions_of(text: str, string: StringValue) -> list[int]:
    """Return the positions of the marks of a value: of each text of one that is written as lines of Markdown."""
    positions = _in_lines(text, string) if "\n" in string.value.strip() else []
    if positions:
        return positions
    end = _end_of(text, string)
    return [] if end is None else [end]


def _in_lines(text: str, string: StringValue) -> list[int]:
    """Return the positions of the marks of a value whose last lines are written without a change, or an empty list."""
    lines = string.value.rstrip().split("\n")
    written = text[string.start : string.end].rstrip()
    starts = list[int]()
    for line in reversed(lines):
        if not written.endswith(line):
            return []
        written = written[: len(written) - len(line)]
        starts.append(string.start + len(written))
        written = written.rstrip(" \t").removesuffix("\n")
    starts.reverse()
    return [starts[line] + column for line, column in text_positions("\n".join(lines))]


def _end_of(text: str, string: StringValue) -> int | None:
    """Return the position of a mark: the end of the content if the text after the mark is written with escapes."""
    end = text_end(string.value)
    if end is None:
        return None
    tail = string.value[end.position :].rstrip()
    at = string.end
    if text[string.start] in "|>" or tail:
        at = len(text[string.start : at].rstrip()) + string.start
    is_quoted = text[string.start] in "\"'"
    has_escapes = is_quoted and any(character in tail for character in "\"'\\")
    start = _start_of(text, tail, at) if not has_escapes else None
    return string.end if start is None and "\n" not in tail else start


def _start_of(text: str, tail: str, at: int) -> int | None:
    """Return the position of a text that ends at `at`. The indentation of its lines can differ."""
    for character in reversed(tail):
        if not character.isspace():
            at = _without_space(text, at) - 1
            if text[at] != character:
                return None
    return _without_space(text, at) if tail[:1].isspace() else at


def _without_space(text: str, at: int) -> int:
    while text[at - 1].isspace():
        at -= 1
    return at


def _is_same(language: str, text: str, start: int, insertions: Sequence[MarkInsertion]) -> bool:
    """Return whether a document with marks has the same values."""
    mark, parts, at = encode(0), list[str](), 0
    for insertion in insertions:
        parts += [text[at : insertion.offset - start], mark]
        at = insertion.offset - start
    marked = "".join([*parts, text[at:]])
    before, after = (_values(language, document) for document in (text, marked))
    return after is not None and after.count(mark) >= len(insertions) and before == after.replace(mark, "")


def _values(language: str, text: str) -> str | None:
    is_list = language == "json" and text.lstrip().startswith("[")
    values, problem = read_values(language, f'{{"{ROOT}": {text}}}' if is_list else text)
    return json.dumps(values, ensure_ascii=False) if problem is None else None
