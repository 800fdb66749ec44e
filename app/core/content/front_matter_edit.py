"""Changing single front matter keys and nothing else: every other byte of the file stays as it is.

Refuses, with the reason, whatever cannot be changed that way. Knows no files and no Git.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from app.core.content.edit_json import edit_json
from app.core.content.edit_toml import edit_toml
from app.core.content.edit_yaml import edit_yaml
from app.core.content.edits import CannotKeep, Edit, same
from app.core.content.filetypes import file_type
from app.core.content.front_matter import LANGUAGES, Block, find_block, split_front_matter
from app.core.content.text import decode

__all__ = ["CannotKeep", "edit_front_matter"]

_GETS_NEW = frozenset({"markdown", "mdx", "markdoc"})
_EDITORS: dict[str, Callable[[str, Edit], str]] = {"yaml": edit_yaml, "toml": edit_toml, "json": edit_json}


def edit_front_matter(path: str, data: bytes, changes: Mapping[str, Any], unset: Sequence[str] = ()) -> bytes:
    """The file with some top-level keys set to values of JSON's types, and others taken out.

    A key that has that value already is not touched. Missing front matter is made, as YAML, in Markdown files.

    Raises:
        CannotKeep: the file, or its front matter, cannot be changed without touching what else is in it.
    """
    language = file_type(path).language
    if language not in LANGUAGES:
        raise CannotKeep("Files of this type have no front matter")
    text, encoding = decode(data)
    if text is None or encoding not in ("utf-8", "utf-8-sig"):
        raise CannotKeep("The file is not UTF-8 text")
    edited = _edit(text, language or "", changes, unset)
    mark = data[: len(data) - len(text.encode())]
    return mark + edited.encode()


def _edit(text: str, language: str, changes: Mapping[str, Any], unset: Sequence[str]) -> str:
    before = split_front_matter(text)
    if before.problem is not None:
        raise CannotKeep(before.problem)
    block = find_block(text) if before.values is not None else None
    if block is None:
        return _with_new(text, language, changes)
    values = before.values or {}
    wanted = Edit(
        values={key: value for key, value in changes.items() if key not in values or not same(values[key], value)},
        unset=[key for key in unset if key in values],
        newline="\r\n" if "\r\n" in text[: block.end] else "\n",
        old=values,
    )
    if not wanted.values and not wanted.unset:
        return text
    return _checked(text, block, wanted, values)


def _checked(text: str, block: Block, wanted: Edit, before: Mapping[str, Any]) -> str:
    """The edited text, when reading it again tells exactly what was wanted."""
    edited = text[: block.start] + _EDITORS[block.language](text[block.start : block.end], wanted) + text[block.end :]
    expected = {key: value for key, value in before.items() if key not in wanted.unset} | dict(wanted.values)
    after = split_front_matter(edited)
    if after.values is None or not same(after.values, expected) or not edited.endswith(text[block.end :]):
        raise CannotKeep("The front matter is written in a way in which these keys cannot be changed alone")
    return edited


def _with_new(text: str, language: str, changes: Mapping[str, Any]) -> str:
    if language not in _GETS_NEW:
        raise CannotKeep("The file has no front matter")
    if not changes:
        return text
    newline = "\r\n" if "\r\n" in text else "\n"
    inner = edit_yaml("", Edit(dict(changes), [], newline, {}))
    made = f"---{newline}{inner}---{newline}{newline}{text}"
    read = split_front_matter(made)
    if read.values is None or not same(read.values, dict(changes)):
        raise CannotKeep("These values cannot be written as front matter")
    return made
