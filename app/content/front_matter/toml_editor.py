"""Edits of a TOML document. Keys and items that do not change keep their bytes."""

import json
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from datetime import date, datetime, time
from typing import Any

import tomlkit
from tomlkit.container import Container
from tomlkit.exceptions import TOMLKitError
from tomlkit.items import AoT, Array, Comment, Date, DateTime, InlineTable, Item, Key, String, Table, Time, Whitespace

from app.content.front_matter.edits import (
    Changed,
    KeyEdit,
    Piece,
    SeparatedItems,
    Span,
    UnsupportedEdit,
    apply_pieces,
    positions_of,
    values_equal,
)
from app.content.front_matter.item_diff import (
    Insertion,
    ItemChange,
    Removal,
    Step,
    diff_items,
    find_moves,
    separate_moves,
)
from app.content.front_matter.toml_reader import count_dots
from app.content.front_matter.values import WrittenDate, WrittenFloat

_TOKEN = re.compile(
    r'"""(?:[^\\]|\\.)*?(?:"{3,5}|\Z)|\'\'\'.*?(?:\'{3,5}|\Z)|"(?:[^"\\\n]++|\\.)*+"?|\'[^\'\n]*+\'?|#[^\n]*+'
    r'|[\[{]|[\]}]|,|\s++|[^\s\[\]{},#"\']++',
    re.DOTALL,
)
MAX_CHARACTERS, MAX_DOTS = 8 * 1024, 200
"""Longer documents and values, and more parts of dotted keys, would keep the process busy.

An edit parses the text several times, and tomlkit takes quadratic time for dotted keys.
"""
TOO_LONG = "The front matter is TOML that is too long to change keys alone. Edit the text of the file"


def edit_array(text: str, old: Sequence[object], new: Sequence[object], newline: str) -> str:
    """Return the text of an array with the items of `new`. Both lists have items.

    Raises:
        UnsupportedEdit: the items cannot be changed separately.
    """
    spans = list(_items(text))
    if len(spans) != len(old):
        raise UnsupportedEdit("A list of the front matter uses a notation that is not supported")

    def change(index: int, before: Any, value: Any) -> list[Piece]:
        span = spans[index]
        return [Piece(*span, _changed(text[span.start : span.end], before, value, newline))]

    def write(value: Any) -> str:
        return write_value(value, like=text[spans[-1].start : spans[-1].end])

    items = SeparatedItems(text, spans, newline, may_end_with_comma=True)
    return apply_pieces(text, list(items.list_pieces(old, new, change, write)))


def edit_inline_table(text: str, old: Mapping[str, object], new: Mapping[str, object], newline: str) -> str:
    """Return the text of an inline table with the keys of `new`. The tables have a common key."""
    spans = list(_items(text))
    pairs = [(_key(text[span.start : span.end]), span) for span in spans]
    names, keys = [name for name, _ in pairs], list(new)
    old_positions, new_positions = positions_of(names), positions_of(keys)
    if sorted(names) != sorted(old):
        raise UnsupportedEdit("A table of the front matter uses a notation that is not supported")
    changed = [key for key in names if key in new and not values_equal(old[key], new[key])]
    steps: list[Step] = [ItemChange(old_positions[key], new_positions[key]) for key in changed]
    steps += [Removal(old_positions[key]) for key in old if key not in new]
    steps += [Insertion(len(names), index) for index, key in enumerate(keys) if key not in old]

    def change(step: ItemChange) -> list[Piece]:
        start, end = spans[step.index]
        value = text.index("=", start) + 1
        value += len(text[value:end]) - len(text[value:end].lstrip())
        key = names[step.index]
        return [Piece(value, end, _changed(text[value:end], old[key], new[key], newline))]

    def write(index: int) -> str:
        return f"{_written_key(keys[index])} = {write_value(new[keys[index]])}"

    items = SeparatedItems(text, spans, newline, may_end_with_comma=False)
    return apply_pieces(text, list(items.pieces(steps, change, write)))


def write_value(value: object, *, like: str = "") -> str:
    """Return a value on one line, with the quotes and the type of date of `like` where possible."""
    if value is None:
        raise UnsupportedEdit("TOML has no null. Remove the key instead")
    if isinstance(value, list):
        return f"[{', '.join(map(write_value, value))}]"
    if isinstance(value, Mapping):
        members = [f"{_written_key(key)} = {write_value(inner)}" for key, inner in value.items()]
        return "{" + f" {', '.join(members)} " + "}" if members else "{}"
    if isinstance(value, WrittenFloat):
        return value.text
    if not isinstance(value, str):
        return str(tomlkit.item(value).as_string())
    return (
        (written_date(value) if isinstance(value, WrittenDate) or (like and written_date(like)) else None)
        or _literal(value, like)
        or str(tomlkit.item(value).as_string())
    )


def written_date(text: str) -> str | None:
    """Return a date or time as TOML writes it, in its notation if TOML permits it, or None for another text."""
    for kind in (datetime, date, time):
        try:
            moment = kind.fromisoformat(text)
        except ValueError:
            continue
        try:
            return text if not isinstance(tomllib.loads(f"x = {text}")["x"], int | float) else None
        except tomllib.TOMLDecodeError:
            return str(tomlkit.item(moment).as_string())
    return None


def end_of_keys(text: str) -> int:
    """Return the end of the line of the last key before the first table of a document."""
    depth, line, end = 0, 0, 0
    for token in _TOKEN.finditer(text):
        written = token[0]
        if written == "[" and depth == 0 and not text[line : token.start()].strip():
            break
        depth += (written in "[{") - (written in "]}")
        if written.isspace():
            line = token.end() - len(written.rpartition("\n")[2]) if "\n" in written else line
        elif not written.startswith("#"):
            end = token.end()
    line_end = text.find("\n", end)
    return 0 if end == 0 else line_end + 1 if line_end >= 0 else len(text)


def new_keys(values: Mapping[str, object], newline: str) -> str:
    """Return the lines of new keys. Tables are written in braces."""
    return "".join(f"{_written_key(key)} = {write_value(value)}{newline}" for key, value in values.items())


def _literal(value: str, like: str) -> str | None:
    return f"'{value}'" if like.startswith("'") and "'" not in value and value.isprintable() else None


def _changed(text: str, old: object, new: object, newline: str) -> str:
    if old and new and isinstance(old, list) and isinstance(new, list):
        return edit_array(text, old, new, newline)
    if isinstance(old, Mapping) and isinstance(new, Mapping) and old.keys() & new.keys():
        return edit_inline_table(text, old, new, newline)
    return write_value(new, like=text)


def _items(text: str) -> Iterator[Span]:
    """Yield the items between the outermost brackets of an array or inline table."""
    depth, start, end = 0, -1, -1
    for token in _TOKEN.finditer(text):
        written = token[0]
        if written in "[{":
            depth += 1
        elif written in "]}":
            depth -= 1
        is_separator = (written == "," and depth == 1) or depth == 0
        if is_separator or (written in "[{" and depth == 1):
            if start >= 0:
                yield Span(start, end)
            start = -1
        elif not written.isspace() and not written.startswith("#"):
            start, end = token.start() if start < 0 else start, token.end()


def _key(member: str) -> str:
    [key] = tomlkit.parse(member)
    return str(key)


def _written_key(key: str) -> str:
    return key if re.fullmatch(r"[A-Za-z0-9_-]+", key) else str(String.from_raw(key).as_string())


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
            continue
        if key in changed.before and key in changed.after and isinstance(table[key], AoT):
            body = _body(table)
            _take_comments(body, _position(body, key))  # These can move with the first table.
        _remove(table, key)


def is_too_long(text: str) -> bool:
    """Return whether keys of a document cannot be changed alone."""
    return len(text) > MAX_CHARACTERS or count_dots(text) > MAX_DOTS


def _parse(text: str) -> tomlkit.TOMLDocument:
    if is_too_long(text):
        raise UnsupportedEdit(TOO_LONG)
    document = tomlkit.parse(text)
    if tomlkit.dumps(document) != text:
        raise UnsupportedEdit("The front matter is TOML with a notation that is not supported")
    return document


def _edit_table(table: Container | Table, old: Mapping[str, object], new: Mapping[str, object], newline: str) -> None:
    for key in [key for key in old if key not in new]:
        _remove(table, key)
    for key, value in new.items():
        if key not in old or not values_equal(old[key], value):
            _edit_key(table, key, old.get(key), value, newline)


def _remove(table: Container | Table, key: str) -> None:
    """Remove a key. The comments at the end of a removed table belong to the next one and remain."""
    body, item = _body(table), table.get(key)
    position = _position(body, key)
    comments = _take_comments(_body(last)) if (last := _last_table(item)) is not None else ""
    table.remove(key)
    if comments:
        body[position] = (None, Whitespace(comments))


def _edit_key(table: Container | Table, key: str, old: Any, new: Any, newline: str) -> None:
    item = table.get(key)
    are_lists = isinstance(old, list) and isinstance(new, list) and bool(old and new)
    are_tables = isinstance(old, Mapping) and isinstance(new, Mapping) and bool(old.keys() & new.keys())
    if are_lists and isinstance(item, AoT) and all(isinstance(entry, Mapping) for entry in new):
        body = _body(table)
        _edit_tables(item, old, new, newline, _take_comments(body, _position(body, key)))
    elif are_lists and isinstance(item, Array):
        table[key] = _parsed_value(edit_array(item.as_string(), old, new, newline))
    elif are_tables and isinstance(item, InlineTable):
        table[key] = _parsed_value(edit_inline_table(item.as_string(), old, new, newline))
    elif are_tables and isinstance(item, Table):
        _edit_table(item, old, new, newline)
    else:
        table[key] = _typed(item, new)


def _edit_tables(tables: AoT, old: list[Any], new: list[Any], newline: str, first: str) -> None:
    """Change the tables of an array. `first` is the comment above the first table.

    tomlkit keeps the comments above a table at the end of the table before it. Here they move with their table.
    Later steps come first, so that positions stay valid.
    """
    steps = diff_items(old, new)
    moves, present = find_moves(old, new, steps), list(tables)
    *above, last = [first, *(_take_comments(_body(table)) for table in present)]
    for position, index in ((moves[index], index) for index in moves):
        _edit_table(present[position], old[position], new[index], newline)
    for step in reversed(separate_moves(steps, moves)):
        if isinstance(step, ItemChange):
            _edit_table(tables[step.index], old[step.index], new[step.new], newline)
        elif isinstance(step, Removal):
            del tables[step.index]
        else:
            like = tables[max(step.index - 1, 0)]
            table = present[moves[step.new]] if step.new in moves else _new_table(new[step.new], like)
            tables.insert(step.index, table)
    for table, comments in zip(present, above, strict=True):
        table.trivia.indent = comments + table.trivia.indent
    _body(tables[-1]).append((None, Whitespace(last)))


def _new_table(values: Mapping[str, object], like: Table) -> Table:
    """Return a table with the indentation of another one, and an empty line after it if that one has it."""
    table = tomlkit.table()
    table.update({key: _typed(None, value) for key, value in values.items()})
    indents = [item.trivia.indent for key, item in _body(like) if key is not None and not isinstance(item, Table | AoT)]
    for _, item in _body(table) if indents else ():
        item.trivia.indent = indents[0]
    if like.as_string().endswith(("\n\n", "\n\r\n")):
        table.add(tomlkit.nl())
    return table


def _body(table: Container | Table) -> list[tuple[Key | None, Item]]:
    return table.value.body if isinstance(table, Table) else table.body


def _position(body: Sequence[tuple[Key | None, Item]], key: str) -> int:
    return next(at for at, (own, _) in enumerate(body) if own is not None and own.key == key)


def _last_table(item: object) -> Table | None:
    if isinstance(item, AoT):
        return item[len(item) - 1]
    return item if isinstance(item, Table) else None


def _take_comments(body: list[tuple[Key | None, Item]], end: int | None = None) -> str:
    """Remove the lines of comments that end at a position of a table, and return them. The default is its end."""
    start = end = len(body) if end is None else end
    while start and isinstance(body[start - 1][1], Comment):
        start -= 1
    if start < end:
        comments = "".join(item.as_string() for _, item in body[start:end])
        # The positions of the other keys remain.
        body[start:end] = [(None, Whitespace(""))] * (end - start)
        return comments
    last = _last_table(body[end - 1][1]) if end else None
    return "" if last is None else _take_comments(_body(last))


def _parsed_value(text: str) -> object:
    return tomlkit.parse(f"x = {text}\n")["x"]


def _with_line_ends(text: str, edited: str, edit: KeyEdit) -> str:
    """Return the text with the line ends of the document and with a final line end."""
    if edited and not edited.endswith("\n") and (not text or text.endswith("\n")):
        edited += edit.newline
    if edit.newline == "\r\n" and "\n" not in text.replace("\r\n", ""):
        edited = edited.replace("\r\n", "\n").replace("\n", "\r\n")
    return edited


def _typed(old: object, value: object) -> object:
    """Return the value to write. A date or time keeps its type, and a text its quotes. TOML has no null."""
    if value is None:
        raise UnsupportedEdit("TOML has no null. Remove the key instead")
    if isinstance(value, WrittenFloat):
        return tomlkit.value(value.text)
    if isinstance(value, WrittenDate) or (isinstance(value, str) and isinstance(old, DateTime | Date | Time)):
        return tomlkit.value(written_date(value) or write_value(value))
    if isinstance(value, str) and isinstance(old, String) and (literal := _literal(value, old.as_string())):
        return tomlkit.value(literal)
    return value
