"""Validation of front matter against the fields of a collection."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from app.content.field_values import ValueKind, kind_of
from app.content.schema.model import Collection, ContentSchema, FieldType, SchemaField, SourceKind
from app.content.schema.patterns import matches

MAX_ERRORS = 100
_TEXTS = frozenset((ValueKind.STRING, ValueKind.TEXT, ValueKind.IMAGE, ValueKind.DATE, ValueKind.DATETIME))
_KINDS = {
    FieldType.STRING: _TEXTS,
    FieldType.TEXT: _TEXTS,
    FieldType.IMAGE: _TEXTS,
    FieldType.NUMBER: frozenset((ValueKind.NUMBER,)),
    FieldType.BOOLEAN: frozenset((ValueKind.BOOLEAN,)),
    FieldType.DATE: frozenset((ValueKind.DATE, ValueKind.DATETIME)),
    FieldType.DATETIME: frozenset((ValueKind.DATE, ValueKind.DATETIME)),
    FieldType.LIST: frozenset((ValueKind.LIST,)),
    FieldType.OBJECT: frozenset((ValueKind.OBJECT,)),
}


class InvalidValue(NamedTuple):
    """A JSON pointer into the front matter, and a message."""

    pointer: str
    message: str


def collection_of(schema: ContentSchema, path: str) -> Collection | None:
    """Return the collection of a path: the one with the longest folder, the first of these."""
    candidates = [collection for collection in schema.collections if matches(collection, path)]
    return max(candidates, key=lambda collection: len(collection.folder), default=None)


def validate(schema: ContentSchema, collection: Collection, values: Mapping[str, Any]) -> list[InvalidValue]:
    """Return the invalid values of the front matter of a file, at most 100.

    An inferred schema describes what exists, so its required fields and options are not enforced.
    """
    is_declared = schema.kind not in (SourceKind.INFERRED, SourceKind.ARCHETYPES)
    errors: list[InvalidValue] = []
    for error in _object_errors(collection.fields, values, "", is_declared=is_declared):
        errors.append(error)
        if len(errors) == MAX_ERRORS:
            break
    return errors


def without_invalid_default(field: SchemaField) -> SchemaField:
    """Return the field without a default value that its type does not permit. Other systems ignore such a value."""
    if field.default is None or not any(_errors(field, field.default, "", is_declared=True)):
        return field
    return replace(field, default=None)


def pointer_to(name: str) -> str:
    """Return a name as one step of a JSON pointer (RFC 6901)."""
    return "/" + name.replace("~", "~0").replace("/", "~1")


def _object_errors(
    fields: Sequence[SchemaField], values: Mapping[str, Any], pointer: str, *, is_declared: bool
) -> Iterator[InvalidValue]:
    for field in fields:
        inner = pointer + pointer_to(field.name)
        value = values.get(field.name)
        if value is None or value == "":
            if field.required and is_declared:
                yield InvalidValue(inner, "This field is required")
        else:
            yield from _errors(field, value, inner, is_declared=is_declared)


def _errors(field: SchemaField, value: Any, pointer: str, *, is_declared: bool) -> Iterator[InvalidValue]:
    if field.type is FieldType.MIXED:
        kinds = {kind for listed in field.types for kind in _KINDS.get(listed, _TEXTS)}
        if field.types and kind_of(value) not in kinds:
            yield InvalidValue(pointer, f"This must be one of {', '.join(field.types)}")
    elif field.multiple:
        if not isinstance(value, list):
            yield InvalidValue(pointer, "This must be a list")
            return
        for number, item in enumerate(value):
            yield from _choice_errors(field, item, f"{pointer}/{number}", is_declared=is_declared)
    elif field.type in (FieldType.SELECT, FieldType.RELATION):
        yield from _choice_errors(field, value, pointer, is_declared=is_declared)
    elif kind_of(value) not in _KINDS[field.type]:
        yield InvalidValue(pointer, f"This must be {_ARTICLES[field.type]}")
    elif field.type is FieldType.OBJECT:
        yield from _object_errors(field.fields, value, pointer, is_declared=is_declared)
    elif field.type is FieldType.LIST and field.item is not None:
        for number, item in enumerate(value):
            if item is not None and item != "":
                yield from _errors(field.item, item, f"{pointer}/{number}", is_declared=is_declared)


def _choice_errors(field: SchemaField, value: Any, pointer: str, *, is_declared: bool) -> Iterator[InvalidValue]:
    if isinstance(value, dict | list):
        yield InvalidValue(pointer, "This must be a single value")
    elif field.type is FieldType.SELECT and is_declared and not any(is_same(value, each) for each in field.options):
        yield InvalidValue(pointer, f"This must be one of {', '.join(map(str, field.options))[:300]}")


def is_same(value: Any, option: Any) -> bool:
    """Return whether a value is an option. Front matter may write the number 1 where the schema has the text."""
    return bool(value == option) or str(value) == str(option)


_ARTICLES = {
    FieldType.STRING: "a text",
    FieldType.TEXT: "a text",
    FieldType.IMAGE: "the path or URL of an image",
    FieldType.NUMBER: "a number",
    FieldType.BOOLEAN: "true or false",
    FieldType.DATE: "a date",
    FieldType.DATETIME: "a date with a time",
    FieldType.LIST: "a list",
    FieldType.OBJECT: "an object",
}
