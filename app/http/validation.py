"""Base classes and fields of Marshmallow schemas."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from operator import attrgetter
from typing import Annotated, Any, ClassVar, Self, cast, get_type_hints

from marshmallow import EXCLUDE, Schema, ValidationError, fields, post_load, pre_load, validate

from app.core import clock
from app.core.errors import ErrorMessage
from app.core.ids import is_id
from app.core.limits import InputLimits
from app.core.names import name_error
from app.http.json_schema import NOT_BLANK_PATTERN, WEB_URL, described, name_pattern
from app.http.loading import load, load_values


class RequestSchema(Schema):
    """A JSON object or query string. Unknown keys are dropped and never stored."""

    class Meta:
        """The options of Marshmallow."""

        unknown = EXCLUDE


class PassthroughSchema(Schema):
    """A response that its service builds from plain values. The fields describe it in the OpenAPI document."""

    def dump(self, obj: object, *, many: bool | None = None) -> object:
        """Return the object unchanged. Serialising every field would cost more than reading the rows."""
        return obj

    @classmethod
    def reader(cls, table: type) -> "RowReader":
        """Return the function that reads this response from a row of a table. It is built at import."""
        return RowReader(cls(), table)


class RowReader:
    """The two or more fields of a response that are columns of a table, by their name or `attribute`."""

    def __init__(self, schema: Schema, table: type) -> None:
        named = [(name, field, field.attribute or name) for name, field in schema.dump_fields.items()]
        own = [item for item in named if hasattr(table, item[2])]
        self._names = tuple(name for name, _, _ in own)
        self._times = tuple(name for name, field, _ in own if isinstance(field, DateTimeMs))
        self._read = attrgetter(*(attribute for _, _, attribute in own))
        self.columns = self._read(table)

    def __call__(self, row: object) -> dict[str, Any]:
        """Return the fields of an object of the table."""
        return self.take(self._read(row))

    def take(self, values: Iterable[object]) -> dict[str, Any]:
        """Return the fields of the values of `columns`. More values of an iterator stay for another reader."""
        shown: dict[str, Any] = dict(zip(self._names, values, strict=False))
        for name in self._times:
            if (moment := shown[name]) is not None:
                shown[name] = clock.iso(moment)
        return shown


class Absent(Enum):
    """The type of `ABSENT`."""

    ABSENT = "absent"


ABSENT = Absent.ABSENT
"""The value of a field that the client did not send. `is not ABSENT` narrows the type."""


class RequestData:
    """The base class of bodies and query strings: frozen dataclasses whose annotations carry the Marshmallow fields.

    A subclass has the attribute `schema`. Loading it returns an instance of the subclass. `__post_init__` of a subclass
    can compare fields and raise ValidationError.
    """

    schema: ClassVar[type[Schema]]
    ALTERNATIVES: ClassVar[tuple[tuple[str, ...], ...]] = ()
    """Alternative sets of fields. The data contain exactly one of them. The OpenAPI document uses it."""
    RULES: ClassVar[dict[str, object]] = {}
    """Keywords of JSON Schema for rules between fields. The OpenAPI document contains them."""

    @classmethod
    def normalize(cls, data: dict[str, object]) -> dict[str, object]:
        """Return the received data with the declared names. A subclass replaces other names of its fields here."""
        return data

    def __init_subclass__(cls, **kwargs: object) -> None:
        """Build the schema from the annotations."""
        super().__init_subclass__(**kwargs)
        hints = get_type_hints(cls, include_extras=True).items()
        declared = {
            name: item
            for name, hint in hints
            for item in getattr(hint, "__metadata__", ())
            if isinstance(item, fields.Field)
        }

        def create(_schema: Schema, data: dict[str, object], **_kwargs: object) -> object:
            return cls(**data)

        def normalize(_schema: Schema, data: object, **_kwargs: object) -> object:
            # A nested body may be any JSON value.
            return cls.normalize(dict(data)) if isinstance(data, dict) else data

        hooks = {"create": post_load(create), "normalize": pre_load(normalize)}
        members = {
            "__doc__": cls.__doc__,
            "__module__": cls.__module__,
            "ALTERNATIVES": cls.ALTERNATIVES,
            "RULES": cls.RULES,
        }
        cls.schema = type(cls.__name__, (RequestSchema,), declared | hooks | members)


class RequestBody(RequestData):
    """The base class of request bodies."""

    @classmethod
    def loaded(cls, data: Mapping[str, object], *, is_change: bool = False) -> Self:
        """Return the body of plain values, as a POST has it, or a PATCH or PUT. Raises InvalidRequest."""
        return cast("Self", load(cls.schema, data, is_change=is_change))

    def sent(self) -> dict[str, Any]:
        """Return the fields that the client sent, by name."""
        return {name: value for name, value in vars(self).items() if value is not ABSENT}


class RequestQuery(RequestData):
    """The base class of query strings."""

    @classmethod
    def loaded(cls, values: Mapping[str, object]) -> Self:
        """Return the query of plain values. None is not given. Raises InvalidRequest."""
        return cast("Self", load_values(cls.schema, values))


class StrictBoolean(fields.Boolean):
    """A JSON boolean. Other values that Marshmallow converts to a boolean are refused."""

    def _deserialize(self, value: object, attr: str | None, data: object, **kwargs: object) -> bool:
        if not isinstance(value, bool):
            raise self.make_error("invalid", input=value)
        return value


class DateTimeMs(fields.Field[datetime]):
    """A time in responses: ISO-8601 UTC with milliseconds and `Z`."""

    def _serialize(self, value: datetime | None, attr: str | None, obj: object, **kwargs: object) -> str | None:
        return None if value is None else clock.iso(value)


class KeyedDict(fields.Dict):
    """A JSON object with arbitrary keys. An error in a key or value is reported under the key."""

    def _deserialize(self, value: object, attr: str | None, data: object, **kwargs: object) -> Any:
        try:
            return super()._deserialize(value, attr, data, **kwargs)  # type: ignore[no-untyped-call]
        except ValidationError as error:
            if not isinstance(error.messages, dict):
                raise
            messages = {
                key: [*errors.get("key", ()), *errors.get("value", ())] for key, errors in error.messages.items()
            }
            raise ValidationError(messages, valid_data=error.valid_data) from error


class Length(validate.Length):
    """A largest and perhaps a smallest length, with messages that the console translates."""

    def __call__(self, value: Any) -> Any:
        """Return the value. Raises ValidationError."""
        try:
            return super().__call__(value)
        except ValidationError as error:
            message = ErrorMessage("Length must be between %(min)s and %(max)s.", min=self.min, max=self.max)
            if self.min is None:
                message = ErrorMessage("Longer than maximum length %(max)s.", max=self.max)
            raise ValidationError(message) from error


class BoundedList(fields.List[object]):
    """A list whose length is checked before its items are loaded, so that a long one costs nothing."""

    def __init__(self, inner: Any, *, max_length: int, min_length: int | None = None, **kwargs: Any) -> None:
        self._length = Length(min=min_length, max=max_length)
        super().__init__(inner, validate=self._length, **kwargs)

    def _deserialize(self, value: object, attr: str | None, data: object, **kwargs: object) -> list[object]:
        if isinstance(value, list):
            self._length(value)
        return super()._deserialize(value, attr, data, **kwargs)


class IdField(fields.String):
    """A prefixed id in a body. A malformed id is 400."""

    def __init__(self, prefix: str, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.prefix = prefix

    def _deserialize(self, value: object, attr: str | None, data: object, **kwargs: object) -> str:
        if not is_id(value, self.prefix):
            raise ValidationError("This is not a valid id.")
        return str(value)


class NameField(fields.String):
    """A name of at most `max_length` characters. White space around it is removed.

    `forbidden` contains characters that are refused in addition to those that no name may contain.
    """

    def __init__(self, max_length: int, *, min_length: int = 1, forbidden: str = "", **kwargs: Any) -> None:
        super().__init__(validate=Length(min=min_length, max=max_length), **kwargs)
        self.min_length, self.forbidden = min_length, forbidden
        self.json_schema = {"pattern": name_pattern(forbidden, may_be_empty=not min_length)}

    def _deserialize(self, value: object, attr: str | None, data: object, **kwargs: object) -> str:
        name: str = super()._deserialize(value, attr, data, **kwargs).strip()
        if (name or self.min_length) and (reason := name_error(name)):
            raise ValidationError(reason)
        if any(character in name for character in self.forbidden):
            raise ValidationError(f"Must not contain {' or '.join(self.forbidden)}.")
        return name


def web_url(**kwargs: Any) -> fields.Url:
    """Return the field of an address with `http` or `https`, also of a host without a top-level domain."""
    return fields.Url(
        schemes={"http", "https"}, require_tld=False, validate=Length(max=2048), metadata=WEB_URL, **kwargs
    )


def text(min_length: int = 1, max_length: int = 255, **kwargs: Any) -> fields.String:
    """Return a string field that keeps its value unchanged.

    With a minimum length the value must not be all white space.
    """

    @described(**({"pattern": NOT_BLANK_PATTERN} if min_length else {}))
    def check_not_blank(value: str) -> None:
        if min_length and value and not value.strip():
            raise ValidationError(ErrorMessage("Must not be empty."))

    kwargs.setdefault("required", True)
    return fields.String(validate=[Length(min=min_length, max=max_length), check_not_blank], **kwargs)


class LimitField(fields.Integer):
    """The largest number of items of a page. A value above the maximum is reduced to it."""

    def __init__(self, load_default: int | None = InputLimits.page_size, **metadata: str) -> None:
        keywords = {"maximum": InputLimits.page_size_max, **metadata}
        super().__init__(load_default=load_default, validate=validate.Range(min=1), metadata=keywords)

    def _deserialize(self, value: object, attr: str | None, data: object, **kwargs: object) -> int:
        return min(super()._deserialize(value, attr, data, **kwargs), InputLimits.page_size_max)


Cursor = Annotated[str | None, fields.String(load_default=None, validate=Length(max=512))]
"""The position in a list. None is its start."""


WHOLE_LIST = (
    f"The largest number of items. A value above {InputLimits.page_size_max} is reduced to it. "
    "Without `limit` and `cursor` the list is complete."
)


@dataclass(frozen=True, kw_only=True)
class ListQuery(RequestQuery):
    """The parameters of a list that is complete without them."""

    limit: Annotated[int | None, LimitField(load_default=None, description=WHOLE_LIST)]
    cursor: Annotated[str | None, fields.String(load_default=None, validate=Length(max=2 * InputLimits.path_bytes))]

    @classmethod
    def normalize(cls, data: dict[str, object]) -> dict[str, object]:
        """Set the default limit for a cursor without one."""
        return data | {"limit": InputLimits.page_size} if "cursor" in data and "limit" not in data else data


@dataclass(frozen=True, kw_only=True)
class PageQuery(RequestQuery):
    """The parameters of cursor pagination."""

    limit: Annotated[int, LimitField()]
    cursor: Cursor
