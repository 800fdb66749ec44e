"""Tests of bodies and query strings: dataclasses with schemas, absent fields, empty strings and limits."""

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated, Any

import pytest
from flask import Request
from marshmallow import ValidationError, fields
from werkzeug.test import EnvironBuilder

from app.core.errors import InvalidRequest
from app.core.limits import InputLimits
from app.http.loading import MAX_ERRORS, load, load_query
from app.http.validation import (
    ABSENT,
    Absent,
    BoundedList,
    DateTimeMs,
    LimitField,
    PageQuery,
    PassthroughSchema,
    RequestBody,
)
from app.models.user import User


@dataclass(frozen=True, kw_only=True)
class ExampleBody(RequestBody):
    """A body with one field of each kind."""

    name: Annotated[str, fields.String(required=True)]
    color: Annotated[str | Absent | None, fields.String(allow_none=True, data_key="colour")] = ABSENT
    size: Annotated[int | Absent, fields.Integer()] = ABSENT


@dataclass(frozen=True, kw_only=True)
class RangeBody(RequestBody):
    """A body with a second name of a field and a comparison of fields."""

    first: Annotated[int, fields.Integer(required=True)]
    last: Annotated[int, fields.Integer(required=True)]

    @classmethod
    def normalize(cls, data: dict[str, Any]) -> dict[str, Any]:
        return data | {"first": data["start"]} if "start" in data else data

    def __post_init__(self) -> None:
        if self.last < self.first:
            raise ValidationError("Must not be less than first.", "last")


@dataclass(frozen=True, kw_only=True)
class ExampleQuery(PageQuery):
    """A page with another default limit, and a range."""

    limit: Annotated[int, LimitField(load_default=20)]
    first: Annotated[int, fields.Integer(data_key="from", load_default=0)]
    last: Annotated[int | None, fields.Integer(data_key="to", load_default=None)]

    @classmethod
    def normalize(cls, data: dict[str, Any]) -> dict[str, Any]:
        return data | {"from": data["start"]} if "start" in data else data

    def __post_init__(self) -> None:
        if self.last is not None and self.last < self.first:
            raise ValidationError("Must not be less than from.", "to")


def load_example(query_string: str) -> ExampleQuery:
    query = load_query(ExampleQuery.schema, Request(EnvironBuilder(query_string=query_string).get_environ()))
    assert isinstance(query, ExampleQuery)
    return query


def load_body(data: dict[str, Any], *, is_change: bool = False) -> ExampleBody:
    body = load(ExampleBody.schema, data, is_change=is_change)
    assert isinstance(body, ExampleBody)
    return body


class TestRequestBody:
    def test_load_returns_the_dataclass(self) -> None:
        assert load_body({"name": "a", "colour": "red", "size": 3}) == ExampleBody(name="a", color="red", size=3)

    def test_missing_optional_fields_are_absent(self) -> None:
        body = load_body({"name": "a"})
        assert (body.color, body.size) == (ABSENT, ABSENT)
        assert body.sent() == {"name": "a"}

    def test_unknown_field_is_dropped(self) -> None:
        assert load_body({"name": "a", "is_admin": True}).sent() == {"name": "a"}

    def test_missing_required_field_is_refused_with_its_path(self) -> None:
        with pytest.raises(InvalidRequest) as error:
            load_body({})
        assert [item.path for item in error.value.fields] == ["name"]


class TestNormalize:
    def test_other_name_of_a_field_is_loaded(self) -> None:
        assert load(RangeBody.schema, {"start": 1, "last": 2}, is_change=False) == RangeBody(first=1, last=2)


class TestPostInit:
    def test_failed_comparison_is_refused_at_its_field(self) -> None:
        with pytest.raises(InvalidRequest) as error:
            load(RangeBody.schema, {"first": 2, "last": 1}, is_change=False)
        assert [(item.path, item.message) for item in error.value.fields] == [("last", "Must not be less than first.")]


class TestEmptyStrings:
    @pytest.mark.parametrize(("is_change", "expected"), [(False, ABSENT), (True, None)])
    def test_optional_nullable_field_is_absent_in_a_post_and_null_in_a_change(
        self, is_change: bool, expected: object
    ) -> None:
        assert load_body({"name": "a", "colour": ""}, is_change=is_change).color is expected

    def test_optional_non_nullable_field_is_absent_in_a_post(self) -> None:
        assert load_body({"name": "a", "size": ""}).size is ABSENT

    def test_optional_non_nullable_field_is_refused_in_a_change(self) -> None:
        with pytest.raises(InvalidRequest):
            load_body({"name": "a", "size": ""}, is_change=True)

    def test_required_field_receives_the_empty_string(self) -> None:
        assert load_body({"name": ""}).name == ""


class TestRequestQuery:
    def test_load_returns_the_dataclass(self) -> None:
        assert load_example("limit=3&cursor=abc&from=1&to=2") == ExampleQuery(limit=3, cursor="abc", first=1, last=2)

    def test_missing_and_empty_parameters_have_their_defaults(self) -> None:
        assert load_example("cursor=&to=") == ExampleQuery(limit=20, cursor=None, first=0, last=None)

    def test_first_value_that_is_not_empty_counts(self) -> None:
        assert load_example("limit=&limit=3&limit=x").limit == 3

    def test_unknown_parameter_is_dropped(self) -> None:
        assert vars(load_example("is_admin=1")).keys() == {"limit", "cursor", "first", "last"}

    def test_other_name_of_a_parameter_is_loaded(self) -> None:
        assert load_example("start=5").first == 5

    @pytest.mark.parametrize(
        ("value", "expected"), [(1, 1), (InputLimits.page_size_max + 1, InputLimits.page_size_max)]
    )
    def test_limit_above_the_maximum_is_reduced(self, value: int, expected: int) -> None:
        assert load_example(f"limit={value}").limit == expected

    @pytest.mark.parametrize(
        ("query_string", "path"),
        [
            ("limit=0", "limit"),
            ("limit=x", "limit"),
            ("from=x", "from"),
            ("from=2&to=1", "to"),
            ("cursor=%ff", "cursor"),
        ],
    )
    def test_invalid_value_is_refused_with_the_name_of_the_parameter(self, query_string: str, path: str) -> None:
        with pytest.raises(InvalidRequest) as error:
            load_example(query_string)
        assert [item.path for item in error.value.fields] == [path]


@dataclass(frozen=True, kw_only=True)
class ListBody(RequestBody):
    """A body with a list of objects."""

    items: Annotated[list[Any], BoundedList(fields.Nested(ExampleBody.schema), max_length=1000)]


class TestLongLists:
    def test_list_above_its_length_has_one_error(self) -> None:
        with pytest.raises(InvalidRequest) as caught:
            load(ListBody.schema, {"items": [{}] * 1001}, is_change=False)
        assert [field.path for field in caught.value.fields] == ["items"]

    def test_errors_are_reported_up_to_their_limit(self) -> None:
        with pytest.raises(InvalidRequest) as caught:
            load(ListBody.schema, {"items": [{}] * 1000}, is_change=False)
        assert len(caught.value.fields) == MAX_ERRORS


class PersonSchema(PassthroughSchema):
    """A user with a field that is not a column."""

    full_name = fields.String(attribute="name")
    email = fields.String()
    projects = fields.Integer()
    createdAt = DateTimeMs(attribute="created_at")
    updatedAt = DateTimeMs(attribute="updated_at", allow_none=True)


class TestRowReader:
    read = PersonSchema.reader(User)

    def test_fields_are_columns_of_the_table_in_the_order_of_the_schema(self) -> None:
        assert self.read.columns == (User.name, User.email, User.created_at, User.updated_at)

    def test_object_is_read_by_the_names_of_the_response(self) -> None:
        user = User(name="Ada", email="ada@example.org", created_at=datetime(2026, 1, 2, tzinfo=UTC))
        assert self.read(user) == {
            "full_name": "Ada",
            "email": "ada@example.org",
            "createdAt": "2026-01-02T00:00:00.000Z",
            "updatedAt": None,
        }

    def test_values_after_the_columns_stay_for_another_reader(self) -> None:
        values = iter(["Ada", "ada@example.org", None, None, "next"])
        assert self.read.take(values)["full_name"] == "Ada"
        assert next(values) == "next"
