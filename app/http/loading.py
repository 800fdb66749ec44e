"""Loading of bodies and query strings with Marshmallow schemas. Errors are reported as dotted paths."""

from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from itertools import islice
from urllib.parse import unquote_to_bytes

from flask import Request
from marshmallow import Schema, ValidationError
from marshmallow.fields import Field
from werkzeug.datastructures import MultiDict

from app.core.errors import FieldError, InvalidRequest

MAX_ERRORS = 100


@cache
def instance(schema: type[Schema], *, many: bool = False) -> Schema:
    """Return the shared instance of a schema class. Instances have no state, and creating one is expensive."""
    return schema(many=many)


def load_query(schema: type[Schema], http_request: Request) -> object:
    """Return the `RequestQuery` that the schema belongs to.

    Raises InvalidRequest with one item per error, also for bytes that are not UTF-8.
    """
    for pair in http_request.query_string.split(b"&") if b"%" in http_request.query_string else ():
        name, _, value = pair.partition(b"=")
        try:
            unquote_to_bytes(value.replace(b"+", b" ")).decode()
        except UnicodeDecodeError as error:
            raise InvalidRequest.field(name.decode("ascii", "replace"), "This is not valid UTF-8") from error
    loader = instance(schema)
    return _load(loader, _parameters(loader, http_request.args))


def _parameters(loader: Schema, arguments: MultiDict[str, str]) -> Iterator[tuple[str, object]]:
    """Yield the query parameters with their first values. An empty optional parameter counts as absent."""
    fields_by_name = _fields_by_name(loader)
    for name, texts in arguments.lists():
        field = fields_by_name.get(name)
        values = [value for value in texts if value or (field is not None and field.required)]
        if values:
            yield name, values if getattr(field, "is_multiple", False) else values[0]


def load_values(schema: type[Schema], values: Mapping[str, object]) -> object:
    """Return the `RequestQuery` of plain values. None is not given. Raises InvalidRequest."""
    loader = instance(schema)
    texts = {name: str(value) for name, value in values.items() if value is not None}
    listed = {name for name, field in loader.load_fields.items() if getattr(field, "is_multiple", False)}
    return _load(loader, ((name, [text] if name in listed else text) for name, text in texts.items()))


def load(schema: type[Schema], data: Mapping[str, object], *, is_change: bool) -> object:
    """Return the values of a body: a dictionary, or the `RequestBody` that the schema belongs to.

    `is_change` is true for PATCH and PUT.

    Raises:
        InvalidRequest: the body does not fit the schema. It names every field.
    """
    loader = instance(schema)
    return _load(loader, _without_empty_strings(loader, data, is_change=is_change))


def _load(loader: Schema, data: Iterable[tuple[str, object]]) -> object:
    try:
        return loader.load(dict(data))
    except ValidationError as error:
        raise InvalidRequest(fields=field_errors(error)) from error


def _fields_by_name(loader: Schema) -> dict[str, Field[object]]:
    return {field.data_key or name: field for name, field in loader.load_fields.items()}


def _without_empty_strings(
    loader: Schema, data: Mapping[str, object], *, is_change: bool
) -> Iterator[tuple[str, object]]:
    """Yield the fields of a body. An empty string in an optional field is absent in a POST, and null in a change.

    A field that cannot be null receives the empty string in a change (contract, section 0).
    """
    fields_by_name = _fields_by_name(loader)
    for name, value in data.items():
        field = fields_by_name.get(name) if value == "" else None
        if field is None or (field.required and not is_change):
            yield name, value
        elif is_change:
            yield name, None if field.allow_none else value


def field_errors(error: ValidationError) -> list[FieldError]:
    """Return the errors of a body or query string, at most `MAX_ERRORS`."""
    return list(islice(flatten(error.messages), MAX_ERRORS))


def flatten(messages: object, path: str = "") -> Iterator[FieldError]:
    """Yield nested messages as dotted paths: `{"files": {0: {"path": ["…"]}}}` as `files.0.path: …`."""
    if isinstance(messages, dict):
        for key, inner in messages.items():
            inner_path = path if key == "_schema" else f"{path}.{key}".strip(".")
            yield from flatten(inner, inner_path)
    else:
        for message in messages if isinstance(messages, list) else [messages]:
            yield FieldError(path, str(message))
