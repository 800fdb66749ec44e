"""Changing single keys of a TOML document in its text."""

from datetime import date, datetime, time
from typing import Any

import tomlkit
from tomlkit.exceptions import TOMLKitError
from tomlkit.items import Date, DateTime, Time

from app.core.content.edits import CannotKeep, Edit


def edit_toml(text: str, edit: Edit) -> str:
    """The text with the edit made; comments, order and spacing of everything else are kept. Raises CannotKeep."""
    try:
        document = _parsed(text)
        for key in edit.unset:
            document.remove(key)
        for key, value in edit.values.items():
            document[key] = _typed(document.get(key), value)
        edited = tomlkit.dumps(document)
    except CannotKeep:
        raise
    except (TOMLKitError, ValueError, TypeError, KeyError) as fault:
        raise CannotKeep("The front matter is TOML in which these keys cannot be changed alone") from fault
    return _with_line_ends(text, edited, edit)


def _parsed(text: str) -> tomlkit.TOMLDocument:
    document = tomlkit.parse(text)
    if tomlkit.dumps(document) != text:
        raise CannotKeep("The front matter is TOML that cannot be written back as it is")
    return document


def _with_line_ends(text: str, edited: str, edit: Edit) -> str:
    """New lines end as the others do; the last one ends at all."""
    if edited and not edited.endswith("\n") and (not text or text.endswith("\n")):
        edited += edit.newline
    if edit.newline == "\r\n" and "\n" not in text.replace("\r\n", ""):
        edited = edited.replace("\r\n", "\n").replace("\n", "\r\n")
    return edited


def _typed(old: Any, value: Any) -> Any:
    """A value to write: a moment stays one where it was one; TOML has no null."""
    if value is None:
        raise CannotKeep("TOML has no null; take the key out instead")
    if isinstance(value, str):
        for kind, read in ((DateTime, datetime.fromisoformat), (Date, date.fromisoformat), (Time, time.fromisoformat)):
            if isinstance(old, kind):
                try:
                    return read(value)
                except ValueError:
                    return value
    return value
