"""Validation of front matter against the fields of a collection."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any, NamedTuple

from app.content.field_values import ValueKind, kind_of
from app.content.json_pointer import pointer_of
from app.content.schema.date_formats import has_format
from app.content.schema.model import Collection, ContentSchema, FieldType, SchemaField
from app.content.schema.new_entry import is_single
from app.content.schema.patterns import matches
from app.content.schema.text_patterns import text_pattern

MAX_ERRORS, MAX_CHECKS = 100, 200_000
EMPTY: tuple[object, ...] = (None, "", [])
"""The values that are none. A boolean without a value is false."""
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


REQUIRED = marked("This field is required")


def collection_of(schema: ContentSchema, path: str, values: Mapping[str, object] | None = None) -> Collection | None:
    """Return the collection of a file: the one with the longest folder, the first of these.

    A collection that is this file only precedes the others. Of several in one folder, the filter of a collection
    permits the values of the file. For a translation, fields that only the complete entry has are not required.
    """
    candidates = [collection for collection in schema.collections if matches(collection, path)]
    collection = max(
        candidates,
        key=lambda candidate: (len(candidate.folder), is_single(candidate), _rank(candidate, values or {})),
        default=None,
    )
    if collection is None or _locale_of(collection, path) not in collection.locales[1:]:
        return collection
    fields = (replace(field, required=field.required and field.translated) for field in collection.fields)
    return replace(collection, fields=tuple(fields), requires_body=False)


def _rank(collection: Collection, values: Mapping[str, object]) -> int:
    if collection.filter is None:
        return 1
    return 2 if collection.filter.permits(values) else 0


def _locale_of(collection: Collection, path: str) -> str:
    """Return the locale of a path: the folder below that of the collection, or the end of the file name."""
    below = path[len(collection.folder) :].lstrip("/")
    folder = below.partition("/")[0]
    return folder if folder in collection.locales else below.rpartition(".")[0].rpartition(".")[2]


def validate(schema: ContentSchema, collection: Collection, values: Mapping[str, object]) -> list[InvalidValue]:
    """Return the invalid values of the front matter of a file, at most 100.

    An inferred schema describes what exists, so its required fields and options are not enforced.
    """
    check = _Check(is_declared=schema.is_declared)
    errors: list[InvalidValue] = []
    try:
        for error in check.object(collection.fields, values, ""):
            errors.append(error)
            if len(errors) == MAX_ERRORS:
                break
    except _TooManyValues:
        errors.append(InvalidValue("", "The front matter has too many values to be compared with the schema"))
    return errors


def is_missing_body(schema: ContentSchema, collection: Collection, body: str) -> bool:
    """Return whether a page lacks the text that the schema requires."""
    return schema.is_declared and collection.requires_body and not body.strip()


def without_invalid_default(field: SchemaField) -> SchemaField:
    """Return the field without a default value that its type does not permit. Other systems ignore such a value."""
    try:
        is_valid = field.default is None or not any(_Check(is_declared=True).value(field, field.default, ""))
    except _TooManyValues:
        is_valid = False
    return field if is_valid else replace(field, default=None)


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
            if not field.required and field.type is FieldType.OBJECT and self._is_empty(value):
                continue
            if value not in EMPTY:
                yield from self.value(field, value, pointer + pointer_of((field.name,)))
            elif field.required and self._is_declared and field.type is not FieldType.BOOLEAN:
                yield from self._missing(field, pointer + pointer_of((field.name,)))
            elif value == []:
                yield from self.value(field, value, pointer + pointer_of((field.name,)))

    def _missing(self, field: SchemaField, pointer: str) -> Iterator[InvalidValue]:
        """Yield a field without a value, of an object the fields that it has to have."""
        if field.type is FieldType.OBJECT and field.fields:
            yield from self.object(field.fields, {}, pointer)
        else:
            yield InvalidValue(pointer, REQUIRED)

    def value(self, field: SchemaField, value: Any, pointer: str) -> Iterator[InvalidValue]:
        """Yield the invalid values in the value of a field. Raises _TooManyValues."""
        if field.type is FieldType.MIXED:
            if field.types and kind_of(value) not in _other_kinds(field):
                yield _unknown_value(pointer, field.types)
        elif field.multiple:
            if not isinstance(value, list):
                yield InvalidValue(pointer, "This must be a list")
                return
            yield from self._limits(field, value, pointer)
            for number, item in enumerate(value):
                self._count()
                yield from self._choice(field, item, f"{pointer}/{number}")
        elif field.type in (FieldType.SELECT, FieldType.RELATION):
            yield from self._choice(field, value, pointer)
        elif field.type is FieldType.LIST:
            yield from self._list(field, value, pointer)
        elif kind_of(value) not in _KINDS[field.type] | _other_kinds(field) and not is_date_in_format(field, value):
            yield InvalidValue(pointer, _EXPECTED[field.type])
        elif field.type is FieldType.OBJECT:
            yield from self._object(field, value, pointer)
        else:
            yield from self._limits(field, value, pointer)

    def _list(self, field: SchemaField, value: Any, pointer: str) -> Iterator[InvalidValue]:
        if not isinstance(value, list):
            if not field.accepts_single or isinstance(value, dict):
                yield InvalidValue(pointer, _EXPECTED[FieldType.LIST])
            elif field.item is not None:
                yield from self.value(field.item, value, pointer)
            return
        yield from self._limits(field, value, pointer)
        for number, item in enumerate(value if field.item is not None else ()):
            self._count()
            if field.item is not None and item is not None and item != "":
                yield from self.value(field.item, item, f"{pointer}/{number}")

    def _object(self, field: SchemaField, value: Mapping[str, Any], pointer: str) -> Iterator[InvalidValue]:
        """Yield the invalid values of an object, with the fields of its variant. The only variant needs no name."""
        yield from self.object(field.fields, value, pointer)
        if not field.variants or field.variant_key is None:
            return
        name = value.get(field.variant_key)
        variant = next((candidate for candidate in field.variants if candidate.name == name), None)
        if name is None and len(field.variants) == 1:
            variant = field.variants[0]
        if variant is not None:
            yield from self.object(variant.fields, value, pointer)
        elif self._is_declared:
            yield _unknown_value(pointer + pointer_of((field.variant_key,)), [kind.name for kind in field.variants])

    def _limits(self, field: SchemaField, value: Any, pointer: str) -> Iterator[InvalidValue]:
        """Yield the limits and the pattern that a number, a text or a list does not match."""
        if not self._is_declared:
            return
        minimum, maximum = field.minimum, field.maximum
        is_number = field.type is FieldType.NUMBER
        if field.integer and not isinstance(value, int):
            yield InvalidValue(pointer, marked("This must be a whole number"))
        size = value if is_number else len(value) if isinstance(value, list | str) else None
        if size is not None and ((minimum is not None and size < minimum) or (maximum is not None and size > maximum)):
            template = marked("This must be in the range %(range)s")
            if not is_number:
                template = marked("The length must be in the range %(range)s")
            yield InvalidValue(pointer, template, {"range": range_text(minimum, maximum)})
        if field.pattern is None or isinstance(value, list):
            return
        if not text_pattern(field.pattern).matches(str(value), self._count):
            hint = field.pattern_hint or field.pattern
            yield InvalidValue(pointer, marked("This does not have the required form: %(form)s"), {"form": hint})

    def _is_empty(self, value: Any) -> bool:
        """Return whether a value or each value of an object is missing. Raises _TooManyValues."""
        self._count()
        if isinstance(value, dict):
            return all(self._is_empty(inner) for inner in value.values())
        return value is None or value in ("", [])

    def _choice(self, field: SchemaField, value: Any, pointer: str) -> Iterator[InvalidValue]:
        if isinstance(value, dict | list):
            yield InvalidValue(pointer, "This must be a single value")
        elif field.type is FieldType.SELECT and self._is_declared and not field.has_option(value):
            yield _unknown_value(pointer, field.options)

    def _count(self, number: int = 1) -> None:
        self._remaining -= number
        if self._remaining < 0:
            raise _TooManyValues


def _other_kinds(field: SchemaField) -> frozenset[ValueKind]:
    """Return the kinds of the values that a field with several types may have."""
    return frozenset(kind for listed in field.types for kind in _KINDS.get(listed, _TEXTS))


def is_date_in_format(field: SchemaField, value: object) -> bool:
    """Return whether a value is a date in the format that the field declares."""
    return field.date_format is not None and isinstance(value, str | int) and has_format(str(value), field.date_format)


def range_text(minimum: float | None, maximum: float | None) -> str:
    """Return a range of numbers, for example `1–3` or `≤ 3`. One of the limits is a number."""
    if minimum is None or maximum is None:
        return f"≥ {minimum:g}" if minimum is not None else f"≤ {maximum:g}"
    return f"{minimum:g}–{maximum:g}"


def _unknown_value(pointer: str, options: Iterable[object]) -> InvalidValue:
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
