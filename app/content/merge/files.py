"""Merge of two edits of one file: by field and block where its type permits this, else by line.

Every function is pure and takes bounded time. No result contains a conflict marker.
"""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import takewhile
from typing import NamedTuple

from app.content.data_text import LANGUAGES as DATA_LANGUAGES
from app.content.data_text import edit_data, read_data
from app.content.filetypes import file_type
from app.content.front_matter.editor import UnsupportedEdit, edit_front_matter
from app.content.front_matter.item_diff import MISSING, changed_values
from app.content.front_matter.reader import LANGUAGES, find_block, split_front_matter
from app.content.front_matter.toml_reader import read_toml
from app.content.front_matter.yaml_reader import read_yaml
from app.content.merge.blocks import MAX_BLOCKS, is_block, merge_blocks, split_blocks
from app.content.merge.values import ValueConflict, has_repeated_key, merge_text, merge_values
from app.content.text import decode
from app.content.three_way import Choice, Part, Replacement, compare, merge, split_lines

MAX_CHARACTERS = 1024 * 1024
"""Longer texts are merged by line."""

MAX_CHECKED = {"json": MAX_CHARACTERS, "yaml": 128 * 1024, "toml": 256 * 1024}
"""Longer results of a merge by line are not parsed."""

MAX_CONFLICTS = 500
"""Further conflicts of values are not listed."""

_BLOCK_LANGUAGES = frozenset(("markdown", "mdx", "markdoc"))
_MARK = "\ufeff"
_YAML_MARKER = re.compile(r"^(?:%[^\n]*+\n)*+---(?=\s|\Z)", re.MULTILINE)
"""The marker between two documents, with the directives above it."""


class ConflictKind(StrEnum):
    """The reason why two edits cannot be merged."""

    VALUE = "value"
    BLOCK = "block"
    LINES = "lines"
    BINARY = "binary"
    EDIT_DELETE = "edit_delete"
    ADD_ADD = "add_add"
    RENAME_EDIT = "rename_edit"
    FILE_FOLDER = "file_folder"


class LineRange(NamedTuple):
    """Lines of a text. The numbers start at 1. `end` is the last line, or `start - 1` for a position between lines."""

    start: int
    end: int


@dataclass(frozen=True)
class MergeConflict:
    """A part of a file that both sides changed. A side that does not exist is `MISSING`.

    `pointer` is that of a value. `block` is the number of the first block in the body of theirs, from 0. `lines` are
    the lines of theirs. Without all of them the conflict concerns the whole file.
    """

    kind: ConflictKind
    base: object
    mine: object
    theirs: object
    pointer: str | None = None
    block: int | None = None
    lines: LineRange | None = None


@dataclass(frozen=True)
class FileConflicts:
    """The conflicts of a file. Nothing of it is merged."""

    conflicts: tuple[MergeConflict, ...]


@dataclass(frozen=True)
class MergedFile:
    """A merged file, or None if it is deleted. `fields` are the pointers of the values that were taken from mine."""

    data: bytes | None
    fields: tuple[str, ...] = ()


def merge_file(
    path: str, base: bytes | None, mine: bytes | None, theirs: bytes | None, choices: Sequence[Choice] = ()
) -> MergedFile | FileConflicts:
    """Merge two edits of a file. None is a version without the file.

    `choices` resolve the conflicts of values, blocks and lines in their order: `mine`, `theirs`, for text `both`, or a
    replacement. With fewer choices than conflicts, the result is the conflicts.
    """
    if mine in (base, theirs):
        return MergedFile(theirs)
    if theirs == base:
        return MergedFile(mine)
    if base is None or mine is None or theirs is None:
        kind = ConflictKind.ADD_ADD if base is None else ConflictKind.EDIT_DELETE
        return whole_conflict(kind, base, mine, theirs)
    texts = _texts(base, mine, theirs)
    if texts is None:
        return whole_conflict(ConflictKind.BINARY, base, mine, theirs)
    merged = _merge_texts(path, texts.sides, choices)
    if isinstance(merged, FileConflicts):
        return merged
    return MergedFile(texts.to_bytes(merged.text), merged.fields)


def whole_conflict(kind: ConflictKind, base: bytes | None, mine: bytes | None, theirs: bytes | None) -> FileConflicts:
    """Return a conflict of whole files. Binary versions are None."""
    before, own, other = (MISSING if side is None else decode(side)[0] for side in (base, mine, theirs))
    return FileConflicts((MergeConflict(kind, before, own, other),))


class _Merge(NamedTuple):
    text: str
    fields: tuple[str, ...] = ()


class _Texts(NamedTuple):
    """Three versions as texts of one encoding, with line feeds as line ends, and the form of the result."""

    sides: tuple[str, str, str]
    encoding: str
    has_mark: bool
    line_end: str
    has_final_end: bool

    def to_bytes(self, text: str) -> bytes:
        if not self.has_final_end:
            text = text.removesuffix("\n")
        result = _MARK * self.has_mark + text.replace("\n", self.line_end)
        try:
            return result.encode(self.encoding)
        except UnicodeEncodeError:  # The text of a resolution has other characters.
            return result.encode()


def _texts(*versions: bytes) -> _Texts | None:
    """Decode three versions, or return None if one is binary or UTF-16, or their encodings differ."""
    texts, encodings = zip(*map(decode, versions), strict=True)
    used = {
        (encoding or "").removesuffix("-sig")
        for text, encoding in zip(texts, encodings, strict=True)
        if not (text or "").isascii() or encoding != "utf-8"
    } or {"utf-8"}
    if None in texts or len(used) > 1 or not used <= {"utf-8", "latin-1"}:
        return None
    ends, line_end = [_line_end(text) for text in texts], "\n"
    if None not in ends:
        line_end = str(_changed(*(end or ends[0] for end in ends)) or line_end)
    base, mine, theirs = (text.replace("\r\n", "\n") if "\r" in text and None not in ends else text for text in texts)
    base, mine, theirs = (text if text.endswith("\n") or not text else f"{text}\n" for text in (base, mine, theirs))
    has_mark = bool(_changed(*(encoding == "utf-8-sig" for encoding in encodings)))
    has_final_end = bool(_changed(*(text.endswith("\n") for text in texts)))
    return _Texts((base, mine, theirs), used.pop(), has_mark, line_end, has_final_end)


def _line_end(text: str) -> str | None:
    """Return the line end of a text, an empty one without a line end, or None if there are several ones."""
    if "\r" not in text:
        return "\n" if "\n" in text else ""
    pairs, count = text.count("\r\n"), text.count("\n")
    return None if 0 < pairs < count else "\r\n" if pairs else "\n" * (count > 0)


def _changed(base: object, mine: object, theirs: object) -> object:
    """Return the version of the side that changed a property."""
    return mine if theirs == base else theirs


def _merge_texts(path: str, texts: Sequence[str], choices: Sequence[Choice]) -> _Merge | FileConflicts:
    merged = _merged(path, texts, ())
    if choices and isinstance(merged, FileConflicts):
        merged, choices = _merged(path, texts, choices), ()
    if isinstance(merged, _Merge) and not _is_as_valid(file_type(path).language or "", merged.text, *texts[1:]):
        return _whole_text(texts, choices)
    return merged


def _merged(path: str, texts: Sequence[str], choices: Sequence[Choice]) -> _Merge | FileConflicts:
    language = file_type(path).language or ""
    merged = None
    if max(map(len, texts)) <= MAX_CHARACTERS:
        if language in LANGUAGES:
            merged = _merge_page(path, language, texts, choices)
        elif language in DATA_LANGUAGES:
            merged = _merge_values(_DataText(path, language), texts, choices)
    if merged is None:
        parts = compare(*texts)
        merged = _merge_of(parts, choices) or FileConflicts(_line_conflicts(parts))
    return merged


def _merge_of(parts: Sequence[Part], choices: Sequence[Choice]) -> _Merge | None:
    if sum(part.is_conflict for part in parts) > len(choices):
        return None
    remaining = iter(choices)
    return _Merge("".join(_chosen(part, next(remaining)) if part.merged is None else part.merged for part in parts))


def _chosen(part: Part, side: Choice) -> str:
    if isinstance(side, Replacement):
        text, end = str(side.value).rstrip("\n"), (part.theirs or part.mine)
        return text + (end[len(end.rstrip("\n")) :] or "\n") if text else ""
    if side != "both":
        return part.theirs if side == "theirs" else part.mine
    # Lines of a block that only one side changed occur once.
    lines = compare(part.base, part.mine, part.theirs)
    return merge(lines, ["both"] * len(lines))


def _line_conflicts(parts: Sequence[Part], *, lines_before: int = 0) -> tuple[MergeConflict, ...]:
    """Return the conflicts of lines. `lines_before` is the number of lines above the compared text."""
    conflicts, line = list[MergeConflict](), lines_before + 1
    for part in parts:
        count = len(split_lines(part.theirs))
        if part.is_conflict:
            lines = LineRange(line, line + count - 1)
            conflicts.append(MergeConflict(ConflictKind.LINES, part.base, part.mine, part.theirs, lines=lines))
        line += count
    return tuple(conflicts)


def _whole_text(texts: Sequence[str], choices: Sequence[Choice]) -> _Merge | FileConflicts:
    """Return a conflict of all lines, or its resolution."""
    base, mine, theirs = texts
    if choices:
        return _Merge(_chosen(Part(base, mine, theirs, None), choices[0]))
    lines = LineRange(1, len(split_lines(theirs)))
    return FileConflicts((MergeConflict(ConflictKind.LINES, base, mine, theirs, lines=lines),))


def _is_as_valid(language: str, text: str, mine: str, theirs: str) -> bool:
    """Return whether a result can be read if both sides can be read."""
    if language in LANGUAGES:
        check: Callable[[str], bool] = _has_valid_page
    elif language in DATA_LANGUAGES and len(text) <= MAX_CHECKED[language]:

        def check(document: str) -> bool:
            return _is_valid_data(language, document)
    else:
        return True
    return check(text) or not (check(mine) and check(theirs))


def _has_valid_page(text: str) -> bool:
    front = split_front_matter(text)
    return front.problem is None and (front.values is None or _HeadText.values_of(text) is not None)


def _is_valid_data(language: str, text: str) -> bool:
    try:
        if language == "toml":
            read_toml(text)
            return True
        if language == "json":
            json.loads(text)
            return not has_repeated_key(language, text)
        return all(map(_is_valid_document, _YAML_MARKER.split(text)))
    except (ValueError, RecursionError):
        return False


def _is_valid_document(text: str) -> bool:
    read_yaml(text)
    return not has_repeated_key("yaml", text)


class _HeadText:
    """The notation of front matter, given as the text before the body."""

    def __init__(self, path: str, language: str) -> None:
        self._path, self.language = path, language

    def read(self, text: str) -> Mapping[str, object] | None:
        block = find_block(text)
        is_whole = block is not None and block.language == self.language and not split_front_matter(text).body
        return self.values_of(text) if is_whole else None

    @staticmethod
    def values_of(text: str) -> Mapping[str, object] | None:
        """Return the values, or None if they cannot be read or a key occurs twice."""
        block, values = find_block(text), split_front_matter(text, has_notation=True).values
        try:
            inner = text[block.start : block.end] if block is not None else ""
            is_unclear = block is None or has_repeated_key(block.language, inner)
        except (ValueError, RecursionError):
            return None
        return None if is_unclear else values

    def edit(self, text: str, changes: Mapping[str, object], unset: Sequence[str]) -> str:
        return edit_front_matter(self._path, text.encode(), changes, unset).decode()


class _DataText:
    """The notation of a data file. Its root is a mapping, or a list, which is the value of one key."""

    def __init__(self, path: str, language: str) -> None:
        self._path, self.language = path, language

    def read(self, text: str) -> Mapping[str, object] | None:
        values = read_data(self._path, text.encode())
        try:
            return None if values is None or has_repeated_key(self.language, text) else values
        except (ValueError, RecursionError):
            return None

    def edit(self, text: str, changes: Mapping[str, object], unset: Sequence[str]) -> str:
        return edit_data(self._path, text.encode(), changes, unset).decode()


def _merge_values(
    notation: _HeadText | _DataText, texts: Sequence[str], choices: Sequence[Choice]
) -> _Merge | FileConflicts | None:
    """Merge texts by key. Return None if one of them cannot be read."""
    values = [notation.read(text) if text else {} for text in texts]
    base, mine, theirs = values
    if base is None or mine is None or theirs is None:
        return None
    merged = merge_values(base, mine, theirs, choices)
    if len(merged.conflicts) > len(choices):
        return FileConflicts(tuple(map(_value_conflict, merged.conflicts[:MAX_CONFLICTS])))
    result = merge_text(notation, merged.values, texts, [base, mine, theirs])
    if isinstance(result, str):
        return _Merge(result, tuple(change.pointer for change in changed_values(theirs, merged.values)))
    # Both sides are readable, but no text has the merged values.
    if not any(part.is_conflict for part in result):
        return _whole_text(texts, choices)
    return (None if merged.conflicts else _merge_of(result, choices)) or FileConflicts(_line_conflicts(result))


def _value_conflict(conflict: ValueConflict) -> MergeConflict:
    return MergeConflict(ConflictKind.VALUE, conflict.base, conflict.mine, conflict.theirs, pointer=conflict.pointer)


def _merge_page(
    path: str, language: str, texts: Sequence[str], choices: Sequence[Choice]
) -> _Merge | FileConflicts | None:
    """Merge front matter by key and the body by block.

    Return None if the front matter of a side cannot be read, or if the result has another one.
    """
    pages = [split_front_matter(text) for text in texts]
    if any(page.problem is not None for page in pages):
        return None
    heads = [text[: len(text) - len(page.body)] for text, page in zip(texts, pages, strict=True)]
    head = _merge_heads(path, heads, ())
    if head is None:
        return None
    if isinstance(head, FileConflicts) and len(head.conflicts) <= len(choices):
        of_head, choices = choices[: len(head.conflicts)], choices[len(head.conflicts) :]
        head = _merge_heads(path, heads, of_head) or head
    body = _merge_bodies(language, [page.body for page in pages], choices, lines_before=heads[2].count("\n"))
    conflicts = [conflict for part in (head, body) if isinstance(part, FileConflicts) for conflict in part.conflicts]
    if isinstance(head, FileConflicts) or isinstance(body, FileConflicts):
        return FileConflicts(tuple(conflicts))
    text = head.text + body.text
    return _Merge(text, head.fields) if len(split_front_matter(text).body) == len(body.text) else None


def _merge_heads(path: str, heads: Sequence[str], choices: Sequence[Choice]) -> _Merge | FileConflicts | None:
    base, mine, theirs = heads
    if mine in (base, theirs):
        return _Merge(theirs)
    if theirs == base:
        return _Merge(mine, _pointers(theirs, mine))
    blocks = [find_block(head) for head in heads]
    languages = {block.language for block in blocks if block is not None}
    if not mine or not theirs or len(languages) > 1:
        if choices and (chosen := _chosen_head(path, heads, choices[0])) is not None:
            return chosen
        before, own, other = (split_front_matter(head).values if head else MISSING for head in heads)
        return FileConflicts((MergeConflict(ConflictKind.VALUE, before, own, other, pointer=""),))
    return _merge_values(_HeadText(path, languages.pop()), heads, choices)


def _chosen_head(path: str, heads: Sequence[str], choice: Choice) -> _Merge | None:
    """Return the front matter of a side, or one with other values. None if they cannot be written."""
    _, mine, theirs = heads
    if not isinstance(choice, Replacement):
        return _Merge(theirs if choice == "theirs" else mine)
    text, values = theirs or mine, choice.value
    own = split_front_matter(text).values or {}
    if not isinstance(values, Mapping):
        return None
    try:
        data = edit_front_matter(path, text.encode(), values, [key for key in own if key not in values])
    except UnsupportedEdit:
        return None
    return _Merge(data.decode(), _pointers(theirs, data.decode()))


def _pointers(before: str, after: str) -> tuple[str, ...]:
    changes = changed_values(*(split_front_matter(text).values for text in (before, after)))
    return tuple(change.pointer for change in changes)


def _merge_bodies(
    language: str, bodies: Sequence[str], choices: Sequence[Choice], *, lines_before: int
) -> _Merge | FileConflicts:
    if language in _BLOCK_LANGUAGES:
        blocks = list(takewhile(lambda side: sum(map(is_block, side)) <= MAX_BLOCKS, map(split_blocks, bodies)))
        if len(blocks) == len(bodies):
            parts = merge_blocks(*blocks)
            return _merge_of(parts, choices) or FileConflicts(_block_conflicts(parts))
    parts = compare(*bodies)
    return _merge_of(parts, choices) or FileConflicts(_line_conflicts(parts, lines_before=lines_before))


def _block_conflicts(parts: Sequence[Part]) -> tuple[MergeConflict, ...]:
    conflicts, number = list[MergeConflict](), 0
    for part in parts:
        if part.is_conflict:
            conflicts.append(MergeConflict(ConflictKind.BLOCK, part.base, part.mine, part.theirs, block=number))
        number += sum(map(is_block, split_blocks(part.theirs)))
    return tuple(conflicts)
