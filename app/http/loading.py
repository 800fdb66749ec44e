"""Loading of bodies and query strings with Marshmallow schemas. Errors are reported as dotted paths."""

from collections.abc import Iterator, Mapping
from functools import cache
from itertools import islice
from typing import Any
from urllib.parse import unquote_to_bytes

from flask import Request
from marshmallow import EXCLUDE, Schema, ValidationError
from webargs.flaskparser import FlaskParser
from werkzeug.datastructures import MultiDict

from app.core.errors import FieldError, InvalidRequest

MAX_ERRORS = 100


class Parser(FlaskParser):
    """The webargs parser for JSON that `app.http.body` has checked."""

    DEFAULT_UNKNOWN_BY_LOCATION = dict.fromkeys(FlaskParser.DEFAULT_UNKNOWN_BY_LOCATION, EXCLUDE)

    def load_querystring(self, req: Request, schema: Schema) -> Any:
        """Load the query parameters. An empty optional parameter counts as absent."""
        needed = {field.data_key or name for name, field in schema.load_fields.items() if field.required}
        arguments = req.args.items(multi=True)
        return self._makeproxy(MultiDict((name, value) for name, value in arguments if value or name in needed), schema)

    def handle_error(self, error: ValidationError, *_args: Any, **_kwargs: Any) -> Any:
        """Convert the nested messages of Marshmallow into the list of the envelope."""
        raise InvalidRequest(fields=field_errors(error)) from error


parser = Parser()


@cache
def instance(schema: type[Schema], *, many: bool = False) -> Schema:
    """Return the shared instance of a schema class. Instances have no state, and creating one is expensive."""
    return schema(many=many)


def load_query(schema: type[Schema], http_request: Request) -> Any:
    """Return the `RequestQuery` that the schema belongs to.

    Raises InvalidRequest with one item per error, also for bytes that are not UTF-8.
    """
    for pair in http_request.query_string.split(b"&") if b"%" in http_request.query_string else ():
        name, _, value = pair.partition(b"=")
        try:
            unquote_to_bytes(value.replace(b"+", b" ")).decode()
        except UnicodeDecodeError as error:
            raise InvalidRequest.field(name.decode("ascii", "replace"), "This is not valid UTF-8") from error
    return parser.parse(instance(schema), http_request, location="query")


def load(schema: type[Schema], data: Mapping[str, Any], *, is_change: bool) -> Any:
    """Return the values of a body: a dictionary, or the `RequestBody` that the schema belongs to.

    `is_change` is true for PATCH and PUT.

    Raises:
        InvalidRequest: the body does not fit the schema. It names every field.
    """
    loader = instance(schema)
    try:
        return loader.load(dict(_without_empty_strings(loader, data, is_change=is_change)))
    except ValidationError as error:
        raise InvalidRequest(fields=field_errors(error)) from error


def _without_empty_strings(loader: Schema, data: Mapping[str, Any], *, is_change: bool) -> Iterator[tuple[str, Any]]:
    """Yield the fields of a body. An empty string in an optional field is absent in a POST, and null in a change.

    A field that cannot be null receives the empty string in a change (contract, section 0).
    """
    fields_by_name = {field.data_key or name: field for name, field in loader.load_fields.items()}
    for name, value in data.items():
        field = fields_by_name.get(name) if value == "" else None
        if field is None or (field.required and not is_change):
            yield name, value
        elif is_change:
            yield name, None if field.allow_none else value


def field_errors(error: ValidationError) -> list[FieldError]:
    """Return the errors of a body or query string, at most `MAX_ERRORS`."""
    return list(islice(flatten(error.messages), MAX_ERRORS))


def flatten(messages: Any, path: str = "") -> Iterator[FieldError]:
    """Yield nested messages as dotted paths: `{"files": {0: {"path": ["…"]}}}` as `files.0.path: …`."""
    if isinstance(messages, dict):
        for key, inner in messages.items():
            inner_path = path if key in ("_schema", "json", "query") else f"{path}.{key}".strip(".")
            yield from flatten(inner, inner_path)
    else:
        for message in messages if isinstance(messages, list) else [messages]:
            yield FieldError(path, str(message))
