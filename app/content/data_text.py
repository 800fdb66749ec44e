"""Data files (YAML, TOML, JSON) as values, and edits of their values that keep every other byte.

The values of a file that is a list have one key. Its text is edited as the value of this key.
"""

import json
import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from app.content.filetypes import file_type
from app.content.front_matter.editor import edit_values
from app.content.front_matter.edits import KeyEdit, UnsupportedEdit, values_equal
from app.content.front_matter.reader import MAX_CHARACTERS, read_values
from app.content.front_matter.toml_editor import is_too_long
from app.content.text import decode

LANGUAGES = frozenset(("yaml", "toml", "json"))
ROOT = "items"
"""The key of the values of a file that is a list."""

# The start of a YAML document: comments and its marker.
_MARKER = re.compile(r"(?:[ \t]*(?:#[^\n]*)?\n)*+---[ \t]*\r?\n")


class _Document(NamedTuple):
    """The values of a file, its text as a mapping, and the parts of this text that the file does not have."""

    values: dict[str, object]
    text: str
    before: str = ""
    after: str = ""


def is_data(path: str) -> bool:
    """Return whether a file has an ending of a data file."""
    return file_type(path).language in LANGUAGES


def read_data(path: str, data: bytes, *, has_notation: bool = True) -> dict[str, object] | None:
    """Return the values of a data file, or None if it cannot be edited as values.

    This is the case if it is too long, invalid, contains several documents, or is neither a mapping nor a list. With
    `has_notation`, decimal numbers are `WrittenFloat`.
    """
    text, encoding = decode(data)
    if text is None or encoding not in ("utf-8", "utf-8-sig") or not is_data(path):
        return None
    document = _read(file_type(path).language or "", _body(path, text)[1], has_notation=has_notation)
    return document.values if document is not None else None


def edit_data(path: str, data: bytes, changes: Mapping[str, object], unset: Sequence[str] = ()) -> bytes:
    """Return the file with top-level keys set to values of JSON's types, and others removed.

    Raises:
        UnsupportedEdit: the edit would also change other bytes, or the file cannot be edited as values.
    """
    text, encoding = decode(data)
    if text is None or encoding not in ("utf-8", "utf-8-sig"):
        raise UnsupportedEdit("The file is not UTF-8 text")
    language, (head, body) = file_type(path).language or "", _body(path, text)
    document = _read(language, body) if is_data(path) else None
    if document is None:
        raise UnsupportedEdit("The file cannot be edited as fields")
    old = document.values
    edit = KeyEdit(
        {key: value for key, value in changes.items() if key not in old or not values_equal(old[key], value)},
        [key for key in unset if key in old],
        "\r\n" if "\r\n" in text else "\n",
        old,
    )
    if not edit.values and not edit.unset:
        return data
    mark = data[: len(data) - len(text.encode())]
    edited = _written(language, document, edit)
    if len(edited) > MAX_CHARACTERS or _read(language, edited) is None:
        raise UnsupportedEdit("These values cannot be written to the file")
    return mark + (head + edited).encode()


def _body(path: str, text: str) -> tuple[str, str]:
    """Return the start of a YAML document up to its marker, and the text after it."""
    marker = _MARKER.match(text) if file_type(path).language == "yaml" else None
    end = marker.end() if marker is not None else 0
    return text[:end], text[end:]


def _read(language: str, text: str, *, has_notation: bool = True) -> _Document | None:
    if language == "toml" and is_too_long(text):
        return None
    for document in (_Document({}, text), *_as_list(language, text)):
        complete = f"{document.before}{document.text}{document.after}"
        values, problem = read_values(language, complete, has_notation=has_notation)
        if problem is None and isinstance(values, dict):
            return document._replace(values=values)
    return None


def _as_list(language: str, text: str) -> Sequence[_Document]:
    """Return the text of a list as the value of a key."""
    first = text.lstrip()[:1]
    if language == "json" and first == "[":
        return [_Document({}, text, f'{{"{ROOT}": ', "}")]
    if language == "yaml" and first in ("-", "#", "["):
        return [_Document({}, text, f"{ROOT}: " if first == "[" else f"{ROOT}:\n")]
    return []


def _written(language: str, document: _Document, edit: KeyEdit) -> str:
    if not document.values and language == "json":
        return json.dumps(dict(edit.values), ensure_ascii=False, indent=2) + "\n"
    edited = edit_values(language, f"{document.before}{document.text}{document.after}", edit)
    if not document.before:
        return edited
    if language == "json":
        return edited.removeprefix(document.before).removesuffix(document.after)
    return edited.removeprefix(f"{ROOT}:").lstrip(" ").removeprefix("\r").removeprefix("\n")
