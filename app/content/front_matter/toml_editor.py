"""Edits of a TOML document. Keys and items that do not change keep their bytes."""

import json
from collections.abc import Mapping
from typing import Any

import tomlkit
from tomlkit.container import Container
from tomlkit.exceptions import TOMLKitError
from tomlkit.items import AoT, Array, Date, DateTime, InlineTable, Table, Time

from app.content.front_matter.edits import Changed, KeyEdit, UnsupportedEdit, values_equal
from app.content.front_matter.item_diff import ItemChange, Removal, diff_items
from app.content.front_matter.toml_arrays import (
    edit_array,
    edit_inline_table,
    end_of_keys,
    new_keys,
    write_value,
    written_date,
)
from app.content.front_matter.toml_reader import count_dots
from app.content.front_matter.values import WrittenFloat

MAX_CHARACTERS, MAX_DOTS = 8 * 1024, 200
"""Longer documents and values, and more parts of dotted keys, would keep the process busy: an edit parses the text several
times, and tomlkit takes quadratic time for dotted keys."""

TOO_LONG = "The front matter is TOML that is too long to change keys alone. Edit the text of the file"


def edit_toml(text: str, edit: KeyEdit) -> str:
    """Return the text with the edit.

    Raises:
        UnsupportedEdit: a change cannot be made without other changes.
    """
    added = {key: value for key, value in edit.values.items() if key not in edit.old}
    new = {key: value for key, value in edit.old.items() if key not in edit.unset} | dict(edit.values)
    if len(json.dumps(dict(edit.values), ensure_ascii=False)) > MAX_CHARACTERS:
        raise UnsupportedEdit(TOO_LONG)
    try:
        document = _parse(text)
        _edit_table(document, edit.old, {key: new[key] for key in new if key not in added}, edit.newline)
        edited = tomlkit.dumps(document)
        position = end_of_keys(edited)
        edited = edited[:position] + new_keys(added, edit.newline) + edited[position:]
    except UnsupportedEdit:
        raise
    except (TOMLKitError, ValueError, TypeError, KeyError, IndexError) as error:
        raise UnsupportedEdit("The front matter is TOML in which these keys cannot be changed alone") from error
    return _with_line_ends(text, edited, edit)


def toml_remainder(text: str, changed: Changed) -> object:
    """Return the document without the changed keys."""
    try:
        document = _parse(text)
        _remove_changed(document, changed)
        return tomlkit.dumps(document)
    except (TOMLKitError, ValueError, TypeError, KeyError, IndexError) as error:
        raise UnsupportedEdit("The front matter is TOML in which these keys cannot be changed alone") from error


def _remove_changed(table: Container | Table, changed: Changed) -> None:
    for key in [key for key in table if key in changed]:
        inner = changed.within(key)
        if inner is not None and isinstance(table[key], Table):
            _remove_changed(table[key], inner)
        else:
            table.remove(key)


def _parse(text: str) -> tomlkit.TOMLDocument:
    if len(text) > MAX_CHARACTERS or count_dots(text) > MAX_DOTS:
        raise UnsupportedEdit(TOO_LONG)
    document = tomlkit.parse(text)
    if tomlkit.dumps(document) != text:
        raise UnsupportedEdit("The front matter is TOML with a notation that is not supported")
    return document


def _edit_table(table: Container | Table, old: Mapping[str, Any], new: Mapping[str, Any], newline: str) -> None:
    for key in [key for key in old if key not in new]:
        table.remove(key)
    for key, value in new.items():
        if key not in old or not values_equal(old[key], value):
            _edit_key(table, key, old.get(key), value, newline)


def _edit_key(table: Container | Table, key: str, old: Any, new: Any, newline: str) -> None:
    item = table.get(key)
    are_lists = isinstance(old, list) and isinstance(new, list) and bool(old and new)
    are_tables = isinstance(old, Mapping) and isinstance(new, Mapping) and bool(old.keys() & new.keys())
    if are_lists and isinstance(item, AoT) and all(isinstance(each, Mapping) for each in new):
        _edit_tables(item, old, new, newline)
    elif are_lists and isinstance(item, Array):
        table[key] = _parsed_value(edit_array(item.as_string(), old, new, newline))
    elif are_tables and isinstance(item, InlineTable):
        table[key] = _parsed_value(edit_inline_table(item.as_string(), old, new, newline))
    elif are_tables and isinstance(item, Table):
        _edit_table(item, old, new, newline)
    else:
        table[key] = _typed(item, new)


def _edit_tables(tables: AoT, old: list[Any], new: list[Any], newline: str) -> None:
    """ItemChange the tables of an array. Later ones come first, so that positions stay valid."""
    for step in reversed(diff_items(old, new)):
        if isinstance(step, ItemChange):
            _edit_table(tables[step.index], old[step.index], new[step.new], newline)
        elif isinstance(step, Removal):
            del tables[step.index]
        else:
            table = tomlkit.table()
            table.update(new[step.new])
            tables.insert(step.index, table)


def _parsed_value(text: str) -> Any:
    return tomlkit.parse(f"x = {text}\n")["x"]


def _with_line_ends(text: str, edited: str, edit: KeyEdit) -> str:
    """Return the text with the line ends of the document and with a final line end."""
    if edited and not edited.endswith("\n") and (not text or text.endswith("\n")):
        edited += edit.newline
    if edit.newline == "\r\n" and "\n" not in text.replace("\r\n", ""):
        edited = edited.replace("\r\n", "\n").replace("\n", "\r\n")
    return edited


def _typed(old: Any, value: Any) -> Any:
    """Return the value to write. A date or time keeps its type. TOML has no null."""
    if value is None:
        raise UnsupportedEdit("TOML has no null. Remove the key instead")
    if isinstance(value, WrittenFloat):
        return tomlkit.value(value.text)
    if isinstance(value, str) and isinstance(old, DateTime | Date | Time):
        return tomlkit.value(written_date(value) or write_value(value))
    return value
