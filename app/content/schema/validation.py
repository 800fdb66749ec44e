"""Validation of front matter against the fields of a collection."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any, NamedTuple

from app.content.field_values import ValueKind, kind_of
from app.content.schema.model import Collection, ContentSchema, FieldType, SchemaField, SourceKind
from app.content.schema.patterns import matches

MAX_ERRORS, MAX_CHECKS = 100, 200_000
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
    """A JSON pointer into the front matter, and a message: a template and the values to insert."""

    pointer: str
    template: str
    values: Mapping[str, str] = MappingProxyType({})


def marked(template: str) -> str:
    """Return a template. The catalogues of the console contain the templates that are marked by this call."""
    return template


def collection_of(schema: ContentSchema, path: str) -> Collection | None:
    """Return the collection of a path: the one with the longest folder, the first of these."""
    candidates = [collection for collection in schema.collections if matches(collection, path)]
    return max(candidates, key=lambda collection: len(collection.folder), default=None)


def validate(schema: ContentSchema, collection: Collection, values: Mapping[str, object]) -> list[InvalidValue]:
    """Return the invalid values of the front matter of a file, at most 100.

    An inferred schema describes what exists, so its required fields and options are not enforced.
    """
    is_declared = schema.kind not in (SourceKind.INFERRED, SourceKind.ARCHETYPES)
    check = _Check(is_declared=is_declared)
    errors: list[InvalidValue] = []
    try:
        for error in check.object(collection.fields, values, ""):
            errors.append(error)
            if len(errors) == MAX_ERRORS:
                break
    except _TooManyValues:
        errors.append(InvalidValue("", "The front matter has too many values to be compared with the schema"))
    return errors


def without_invalid_default(field: SchemaField) -> SchemaField:
    """Return the field without a default value that its type does not permit. Other systems ignore such a value."""
    try:
        is_valid = field.default is None or not any(_Check(is_declared=True).value(field, field.default, ""))
    except _TooManyValues:
        is_valid = False
    return field if is_valid else replace(field, default=None)


def pointer_to(name: str) -> str:
    """Return a name as one step of a JSON pointer (RFC 6901)."""
    return "/" + name.replace("~", "~0").replace("/", "~1")


class _TooManyValues(Exception):
    """The comparison would take too long."""


class _Check:
    """Comparison of values with fields. `_remaining` is the number of fields and items that it still compares."""

    def __init__(self, *, is_declared: bool) -> None:
        self._is_declared, self._remaining = is_declared, MAX_CHECKS

    def object(
        self, fields: Sequence[SchemaField], values: Mapping[str, object], pointer: str
    ) -> Iterator[InvalidValue]:
        """Yield the invalid values of an object. Raises _TooManyValues."""
        for field in fields:
            self._count()
            value = values.get(field.name)
            if value is not None and value != "":
                yield from self.value(field, value, pointer + pointer_to(field.name))
            elif field.required and self._is_declared:
                yield InvalidValue(pointer + pointer_to(field.name), marked("This field is required"))

    def value(self, field: SchemaField, value: Any, pointer: str) -> Iterator[InvalidValue]:
        """Yield the invalid values in the value of a field. Raises _TooManyValues."""
        if field.type is FieldType.MIXED:
            kinds = {kind for listed in field.types for kind in _KINDS.get(listed, _TEXTS)}
            if field.types and kind_of(value) not in kinds:
                yield _not_one_of(pointer, field.types)
        elif field.multiple:
            if not isinstance(value, list):
                yield InvalidValue(pointer, "This must be a list")
                return
            for number, item in enumerate(value):
                self._count()
                yield from self._choice(field, item, f"{pointer}/{number}")
        elif field.type in (FieldType.SELECT, FieldType.RELATION):
            yield from self._choice(field, value, pointer)
        elif kind_of(value) not in _KINDS[field.type]:
            yield InvalidValue(pointer, _EXPECTED[field.type])
        elif field.type is FieldType.OBJECT:
            yield from self.object(field.fields, value, pointer)
        elif field.type is FieldType.LIST and field.item is not None:
            for number, item in enumerate(value):
                self._count()
                if item is not None and item != "":
                    yield from self.value(field.item, item, f"{pointer}/{number}")

    def _choice(self, field: SchemaField, value: Any, pointer: str) -> Iterator[InvalidValue]:
        if isinstance(value, dict | list):
            yield InvalidValue(pointer, "This must be a single value")
        elif field.type is FieldType.SELECT and self._is_declared and not field.has_option(value):
            yield _not_one_of(pointer, field.options)

    def _count(self) -> None:
        self._remaining -= 1
        if self._remaining < 0:
            raise _TooManyValues


def _not_one_of(pointer: str, options: Iterable[object]) -> InvalidValue:
    listed = ", ".join(map(str, options))[:300]
    return InvalidValue(pointer, marked("This must be one of %(options)s"), {"options": listed})


_EXPECTED = {
    FieldType.STRING: marked("This must be a text"),
    FieldType.TEXT: marked("This must be a text"),
    FieldType.IMAGE: "This must be the path or URL of an image",
    FieldType.NUMBER: marked("This must be a number"),
    FieldType.BOOLEAN: "This must be true or false",
    FieldType.DATE: marked("This must be a date"),
    FieldType.DATETIME: "This must be a date with a time",
    FieldType.LIST: "This must be a list",
    FieldType.OBJECT: "This must be an object",
}
