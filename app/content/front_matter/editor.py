"""Edits of front matter that keep every byte that does not change.

An edit that needs other changes is refused with a reason.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime

from app.content.filetypes import file_type
from app.content.front_matter.edits import Changed, KeyEdit, UnsupportedEdit, values_equal
from app.content.front_matter.json_editor import edit_json, json_remainder
from app.content.front_matter.reader import (
    LANGUAGES,
    MAX_CHARACTERS,
    Block,
    find_block,
    read_values,
    split_front_matter,
)
from app.content.front_matter.toml_editor import edit_toml, toml_remainder
from app.content.front_matter.yaml_editor import edit_yaml, yaml_remainder
from app.content.text import decode

__all__ = ["UnsupportedEdit", "edit_front_matter"]

_LANGUAGES_WITH_NEW_BLOCK = frozenset({"markdown", "mdx", "markdoc"})
NOT_ALONE = "The notation of the front matter does not permit to change these keys alone"
_REMAINDERS: dict[str, Callable[[str, Changed], object]] = {
    "yaml": yaml_remainder,
    "toml": toml_remainder,
    "json": json_remainder,
}
_EDITORS: dict[str, Callable[[str, KeyEdit], str]] = {"yaml": edit_yaml, "toml": edit_toml, "json": edit_json}


def edit_front_matter(path: str, data: bytes, changes: Mapping[str, object], unset: Sequence[str] = ()) -> bytes:
    """Return the file with top-level keys set to values of JSON's types, and others removed.

    Equal values are not touched. Markdown files without front matter get a YAML block.

    Raises:
        UnsupportedEdit: the edit would also change other bytes.
    """
    language = file_type(path).language
    if language not in LANGUAGES:
        raise UnsupportedEdit("Files of this type have no front matter")
    if len(json.dumps(dict(changes), ensure_ascii=False)) > MAX_CHARACTERS:
        raise UnsupportedEdit("These values are too long for front matter")
    text, encoding = decode(data)
    if text is None or encoding not in ("utf-8", "utf-8-sig"):
        raise UnsupportedEdit("The file is not UTF-8 text")
    edited = _edit(text, language or "", changes, unset)
    mark = data[: len(data) - len(text.encode())]
    return mark + edited.encode()


def _edit(text: str, language: str, changes: Mapping[str, object], unset: Sequence[str]) -> str:
    before = split_front_matter(text, has_notation=True)
    if before.problem is not None:
        raise UnsupportedEdit(before.problem)
    block = find_block(text) if before.values is not None else None
    if block is None:
        return _with_new(text, language, changes)
    values = before.values or {}
    edit = KeyEdit(
        values={
            key: value for key, value in changes.items() if key not in values or not values_equal(values[key], value)
        },
        unset=[key for key in unset if key in values],
        newline="\r\n" if "\r\n" in text[: block.end] else "\n",
        old=values,
    )
    if not edit.values and not edit.unset:
        return text
    return _checked(text, block, edit)


def _checked(text: str, block: Block, edit: KeyEdit) -> str:
    """Return the edited text. A second reading must find the same block."""
    inner = edit_values(block.language, text[block.start : block.end], edit)
    edited = text[: block.start] + inner + text[block.end :]
    at = find_block(edited)
    if at is None or at.language != block.language or (at.start, at.end) != (block.start, block.start + len(inner)):
        raise UnsupportedEdit(NOT_ALONE)
    return edited


def edit_values(language: str, text: str, edit: KeyEdit) -> str:
    """Return a text in YAML, TOML or JSON with an edit of its keys.

    Raises:
        UnsupportedEdit: a second reading does not return exactly the requested values, or other bytes would differ.
    """
    edited = _EDITORS[language](text, edit)
    expected = {key: value for key, value in edit.old.items() if key not in edit.unset} | dict(edit.values)
    after, problem = read_values(language, edited, has_notation=True)
    if problem is not None or not values_equal(_canonical(after), _canonical(expected)):
        raise UnsupportedEdit(NOT_ALONE)
    changed = Changed(edit.old, expected)
    if _REMAINDERS[language](text, changed) != _REMAINDERS[language](edited, changed):
        raise UnsupportedEdit(NOT_ALONE)
    return edited


def _canonical(value: object) -> object:
    """Return values with dates and times in one notation. TOML does not permit every notation."""
    if isinstance(value, Mapping):
        return {key: _canonical(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_canonical(inner) for inner in value]
    if isinstance(value, str) and value[:2].isdigit():
        with suppress(ValueError):
            return datetime.fromisoformat(value).isoformat()
    return value


def _with_new(text: str, language: str, changes: Mapping[str, object]) -> str:
    if language not in _LANGUAGES_WITH_NEW_BLOCK:
        raise UnsupportedEdit("The file has no front matter")
    if not changes:
        return text
    newline = "\r\n" if "\r\n" in text else "\n"
    inner = edit_yaml("", KeyEdit(dict(changes), [], newline, {}))
    created = f"---{newline}{inner}---{newline}{newline}{text}"
    read = split_front_matter(created)
    if read.values is None or not values_equal(read.values, dict(changes)):
        raise UnsupportedEdit("These values cannot be written as front matter")
    return created
