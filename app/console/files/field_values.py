"""Changes of the front matter that a form describes. Only values whose input changed are written."""

import copy
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from app.console.files.field_inputs import REMOVED, UNCHANGED, InputKind, sent_value
from app.console.files.field_lists import (
    ACTION,
    INPUT,
    NOTATION,
    KeyedList,
    Path,
    keyed,
    mark_changed,
    name_of,
    named_pointer,
    path_of,
    plain,
    sent_kinds,
    sent_orders,
)
from app.console.shell.forms import Form
from app.content.front_matter.edits import values_equal
from app.content.schema.model import Collection, ContentSchema, FieldType, SchemaField
from app.content.schema.validation import EMPTY, REQUIRED, InvalidValue, validate
from app.core.errors import ErrorMessage, FieldError, InvalidRequest

_NEW_ITEM = re.compile(r"n\d+")
"""The id of an item that the form adds to a list."""

_TEXTS = (FieldType.STRING, FieldType.TEXT, FieldType.IMAGE)


@dataclass(frozen=True)
class Changes:
    """New values of top-level keys, and removed keys."""

    values: dict[str, object]
    unset: list[str]


def changes_of(values: Mapping[str, object], form: Form, fields: Sequence[SchemaField] = ()) -> Changes:
    """Return the changes of a form to the values of a file. An emptied text whose field is optional is removed.

    Raises:
        InvalidRequest: an input cannot be read as a value of its kind, or the list around it was not sent.
    """
    before = keyed(values, form)
    edited, touched = copy.deepcopy(before), {path[0] for path in sent_orders(form)}
    readings = {
        path: REMOVED if value == "" and _is_optional(fields, path) else value
        for path, value in _sent_values(before, form)
    }
    errors = [value for value in readings.values() if isinstance(value, FieldError)]
    missing = [path for path, value in readings.items() if value is not UNCHANGED and not _set(edited, path, value)]
    errors += [_missing_list(name_of(path)) for path in missing]
    if errors:
        raise InvalidRequest(errors[0].message, fields=errors)
    touched.update(path[0] for path, value in readings.items() if value is not UNCHANGED)
    edited = {key: plain(value) for key, value in edited.items()}
    touched = {key for key in touched if not _is_same(edited, values, key)}
    key = form.text("new.key").strip()
    if key and key not in values:
        edited[key] = form.text("new.value")
        touched.add(key)
    return Changes(
        {key: value for key, value in edited.items() if key in touched},
        [key for key in values if key in touched and key not in edited],
    )


def _is_same(edited: Mapping[str, object], values: Mapping[str, object], key: str) -> bool:
    """Return whether a key has the value of the file. An empty list or object is equal to a missing one."""
    is_absent = key not in values and edited.get(key) in ([], {})
    return is_absent or (values_equal(edited.get(key), values.get(key)) and (key in edited) == (key in values))


def shown_again(values: Mapping[str, object], form: Form) -> dict[str, object]:
    """Return the values for a form that is shown again, with the items whose inputs changed."""
    result = keyed(values, form, is_shown_again=True)
    for path, value in _sent_values(result, form):
        if value is not UNCHANGED:
            mark_changed(result, path)
    target = form.text(ACTION).partition(" ")
    if target[0] == "open":
        mark_changed(result, path_of(target[2]))
    return result


def _sent_values(values: Mapping[str, object], form: Form) -> Iterator[tuple[Path, object]]:
    """Yield the path and the value of each input: UNCHANGED, REMOVED, or an error if it cannot be read."""
    for path, kind in sent_kinds(form).items():
        name = name_of(path)
        try:
            notation = form.text(NOTATION + name)
            yield path, sent_value(InputKind(kind), _value_at(values, path), form.all(INPUT + name), notation)
        except ValueError as error:
            yield path, FieldError(INPUT + name, str(error))


def _is_optional(fields: Sequence[SchemaField], path: Path) -> bool:
    """Return whether a schema has an optional text or image at a path. The items of lists have ids."""
    field = next((field for field in fields if field.name == path[0]), None)
    if field is None:
        return False
    if len(path) == 1:
        return field.type in _TEXTS and not field.required
    inner, below = (field.item, path[2:]) if field.item is not None else (field, path[1:])
    return bool(below) and _is_optional(
        (*inner.fields, *(inner_field for kind in inner.variants for inner_field in kind.fields)), below
    )


def _missing_list(name: str) -> FieldError:
    message = ErrorMessage("The list that contains “%(path)s” is missing in the form. Reload the page", path=name)
    return FieldError(INPUT + name, message)


def _value_at(values: object, path: tuple[str, ...]) -> object:
    for key in path:
        values = values.get(key) if isinstance(values, Mapping) else None
    return values


def _set(values: dict[str, object], path: Path, value: object) -> bool:
    """Set a value. Returns False if the form does not contain the list around it. Removed items are not set."""
    for key in path[:-1]:
        if isinstance(values, KeyedList) and key not in values:
            return True
        inner = values.get(key)
        if inner is None:
            inner = values[key] = {}
        if not isinstance(inner, dict):
            return False
        values = inner
    if isinstance(values, KeyedList):
        return False
    if value is REMOVED:
        values.pop(path[-1], None)
    else:
        values[path[-1]] = value
    return True


def faults(
    schema: ContentSchema,
    collection: Collection,
    values: Mapping[str, object],
    changes: Changes,
    form: Form,
    *,
    is_new: bool = False,
) -> list[FieldError]:
    """Return the changed values that do not match their fields. Values that were not edited are accepted as they are.

    A new file must have each required value.
    """
    after = {key: value for key, value in values.items() if key not in changes.unset} | changes.values
    before = [error for error in validate(schema, collection, values) if not (is_new and error.template == REQUIRED)]
    errors = [error for error in validate(schema, collection, after) if not _is_old(error, before, values, after, form)]
    return [
        FieldError(INPUT + named_pointer(error.pointer, form), ErrorMessage(error.template, **error.values))
        for error in errors
    ]


def _is_old(
    error: InvalidValue,
    before: Sequence[InvalidValue],
    values: Mapping[str, object],
    after: Mapping[str, object],
    form: Form,
) -> bool:
    """Return whether an invalid value is in the file, also as a part of another item of its list.

    A draft that is opened again has other positions than the file.
    """
    if any(_NEW_ITEM.fullmatch(part) for part in named_pointer(error.pointer, form).split("/")):
        return False
    value, shape = _present(after, error.pointer), _shape(error.pointer)
    return any(
        (_shape(entry.pointer), entry.template, _present(values, entry.pointer)) == (shape, error.template, value)
        for entry in before
    )


def _present(values: Mapping[str, object], pointer: str) -> object:
    """Return the value at a JSON pointer, or None if it is missing or empty."""
    value = _at(values, pointer)
    return None if value in EMPTY else value


def _shape(pointer: str) -> list[str]:
    """Return the keys of a pointer without positions."""
    return ["*" if key.isdigit() else key for key in pointer.split("/")]


def _at(values: object, pointer: str) -> object:
    """Return the value at a JSON pointer, or None."""
    for key in path_of(pointer[1:]):
        if isinstance(values, Mapping):
            values = values.get(key)
        elif isinstance(values, Sequence) and key.isdigit() and int(key) < len(values):
            values = values[int(key)]
        else:
            return None
    return values
