"""Dates of front matter in the formats that a schema declares."""

from collections.abc import Iterator, Mapping, Sequence

from app.content.field_values import value_of
from app.content.schema.date_formats import has_time, parsed
from app.content.schema.model import ContentSchema, FieldType, SchemaField
from app.content.schema.validation import collection_of


def has_formats(schema: ContentSchema) -> bool:
    """Return whether a field of the schema has a format of dates."""
    return any(True for collection in schema.collections for _ in _formats(collection.fields))


def declared_dates(schema: ContentSchema, path: str, values: Mapping[str, object]) -> dict[str, str]:
    """Return the dates of a file in ISO 8601 by the names of their fields. Nested fields have dotted names."""
    collection = collection_of(schema, path, values)
    dates = dict[str, str]()
    for name, date_format in _formats(collection.fields) if collection is not None else ():
        value = value_of(values, name)
        moment = parsed(str(value), date_format) if isinstance(value, str | int) else None
        if moment is not None:
            dates[name] = moment.isoformat() if has_time(date_format) else moment.date().isoformat()
    return dates


def _formats(fields: Sequence[SchemaField], prefix: str = "") -> Iterator[tuple[str, str]]:
    for field in fields:
        if field.date_format is not None and field.type in (FieldType.DATE, FieldType.DATETIME):
            yield f"{prefix}{field.name}", field.date_format
        elif field.type is FieldType.OBJECT:
            yield from _formats(field.fields, f"{prefix}{field.name}.")
