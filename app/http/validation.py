"""Bodies, queries and results as Marshmallow schemas, and their faults as dotted paths."""

from collections.abc import Iterator, Mapping
from datetime import datetime
from functools import cache
from typing import Any
from urllib.parse import unquote_to_bytes

from flask import Request
from marshmallow import EXCLUDE, Schema, ValidationError, fields, validate
from webargs.flaskparser import FlaskParser
from werkzeug.datastructures import MultiDict

from app.core import clock
from app.core.errors import FieldError, Invalid
from app.core.ids import is_id
from app.core.names import name_fault


class Body(Schema):
    """A JSON body or query string; unknown keys are dropped, never stored."""

    class Meta:
        """Marshmallow's options."""

        unknown = EXCLUDE


class Ready(Schema):
    """An answer that its service has already made of plain values; the fields describe it for the OpenAPI document."""

    def dump(self, obj: Any, *, many: bool | None = None) -> Any:
        """Pass the values on as they are: walking through every field costs more than reading the rows."""
        return obj


class Parser(FlaskParser):
    """webargs, fed with the JSON that `app.http.body` has already judged."""

    DEFAULT_UNKNOWN_BY_LOCATION = dict.fromkeys(FlaskParser.DEFAULT_UNKNOWN_BY_LOCATION, EXCLUDE)

    def load_querystring(self, req: Request, schema: Schema) -> Any:
        """The query's parameters; one that may be left out counts as absent where a form left it empty."""
        needed = {field.data_key or name for name, field in schema.load_fields.items() if field.required}
        given = req.args.items(multi=True)
        return self._makeproxy(MultiDict((name, value) for name, value in given if value or name in needed), schema)

    def handle_error(self, error: ValidationError, *_args: Any, **_kwargs: Any) -> Any:
        """Turn Marshmallow's nested messages into the envelope's list."""
        raise Invalid(fields=list(flatten(error.messages))) from error


parser = Parser()


@cache
def instance(schema: type[Schema], *, many: bool = False) -> Schema:
    """One object of a schema class; they keep no state, and making one costs more than using it."""
    return schema(many=many)


def load_query(schema: type[Schema], given: Request) -> dict[str, Any]:
    """Clean values of a query string. Raises Invalid with one item a fault, bytes that are no UTF-8 included."""
    for pair in given.query_string.split(b"&") if b"%" in given.query_string else ():
        name, _, value = pair.partition(b"=")
        try:
            unquote_to_bytes(value.replace(b"+", b" ")).decode()
        except UnicodeDecodeError as error:
            raise Invalid.field(name.decode("ascii", "replace"), "This is not valid UTF-8") from error
    cleaned: dict[str, Any] = parser.parse(instance(schema), given, location="query")
    return cleaned


def load(schema: type[Schema], data: Mapping[str, Any]) -> dict[str, Any]:
    """Clean values of a body. Raises Invalid with one item a fault."""
    try:
        loaded: dict[str, Any] = instance(schema).load(data)
    except ValidationError as error:
        raise Invalid(fields=list(flatten(error.messages))) from error
    return loaded


def flatten(messages: Any, path: str = "") -> Iterator[FieldError]:
    """`{"files": {0: {"path": ["…"]}}}` as `files.0.path: …`."""
    if isinstance(messages, dict):
        for key, inner in messages.items():
            below = path if key in ("_schema", "json", "query") else f"{path}.{key}".strip(".")
            yield from flatten(inner, below)
    else:
        for message in messages if isinstance(messages, list) else [messages]:
            yield FieldError(path, str(message))


class Flag(fields.Boolean):
    """A JSON boolean and nothing that merely looks like one."""

    def _deserialize(self, value: Any, attr: str | None, data: Any, **kwargs: Any) -> bool:
        if not isinstance(value, bool):
            raise self.make_error("invalid", input=value)
        return value


class Moment(fields.Field[datetime]):
    """A time in results: ISO-8601 UTC with milliseconds and `Z`."""

    def _serialize(self, value: datetime | None, attr: str | None, obj: Any, **kwargs: Any) -> str | None:
        return None if value is None else clock.iso(value)


class Entries(fields.Dict):
    """A JSON object of any keys; a fault in an entry, be it in its key or its value, is told by its key."""

    def _deserialize(self, value: Any, attr: str | None, data: Any, **kwargs: Any) -> Any:
        try:
            return super()._deserialize(value, attr, data, **kwargs)  # type: ignore[no-untyped-call]
        except ValidationError as error:
            if not isinstance(error.messages, dict):
                raise
            told = {key: [*faults.get("key", ()), *faults.get("value", ())] for key, faults in error.messages.items()}
            raise ValidationError(told, valid_data=error.valid_data) from error


class Id(fields.String):
    """A prefixed id in a body; malformed is 400 there."""

    def __init__(self, prefix: str, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.prefix = prefix

    def _deserialize(self, value: Any, attr: str | None, data: Any, **kwargs: Any) -> str:
        if not is_id(value, self.prefix):
            raise ValidationError("This is not a valid id.")
        return str(value)


class Name(fields.String):
    """What somebody or something is called, of at most that many characters; white space around it is dropped.

    `without` are characters that it may not hold besides those no name may.
    """

    def __init__(self, most: int, *, least: int = 1, without: str = "", **kwargs: Any) -> None:
        super().__init__(validate=validate.Length(min=least, max=most), **kwargs)
        self.least, self.without = least, without

    def _deserialize(self, value: Any, attr: str | None, data: Any, **kwargs: Any) -> str:
        name: str = super()._deserialize(value, attr, data, **kwargs).strip()
        if (name or self.least) and (fault := name_fault(name)):
            raise ValidationError(fault)
        if any(character in name for character in self.without):
            raise ValidationError(f"May not hold {' or '.join(self.without)}.")
        return name


def text(least: int = 1, most: int = 255, **kwargs: Any) -> fields.String:
    """A string of that many characters, kept as it is; it must not be all white space where any are needed."""

    def meaningful(value: str) -> None:
        if least and value and not value.strip():
            raise ValidationError("May not be empty.")

    kwargs.setdefault("required", True)
    return fields.String(validate=[validate.Length(min=least, max=most), meaningful], **kwargs)


def without_emptied(data: Any, *names: str) -> Any:
    """A body in which the named fields are null where a form left them empty."""
    return data | {name: None for name in names if data.get(name) == ""} if isinstance(data, dict) else data


class Page(Body):
    """Cursor pagination; a limit above the maximum is clamped."""

    limit = fields.Integer(load_default=50, validate=validate.Range(min=1))
    cursor = fields.String(load_default=None, validate=validate.Length(max=512))
