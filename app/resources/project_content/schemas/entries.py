"""Query and response schemas of entries."""

from collections.abc import Mapping
from typing import Any, TypedDict

from marshmallow import ValidationError, fields, post_load, pre_load, validate

from app.content.entry_filters import (
    MAX_CHARACTERS,
    MAX_FIELDS,
    MAX_FILTERS,
    InvalidFilter,
    Operator,
    field_names,
    parse_filters,
    parse_order,
)
from app.content.field_values import MAX_NAME
from app.http.file_paths import plain_path
from app.http.git_refs import branch_name
from app.http.json_schema import SHA, described
from app.http.validation import PassthroughSchema, RequestSchema
from app.resources.project_content.entries import EntryQuery
from app.resources.project_content.schemas.content import MAX_PAGE, LastCommitSchema

_NAME = rf"[^\x00\[\]]{{1,{MAX_NAME}}}"
_LISTED_NAME = rf"[^\x00\[\],]{{1,{MAX_NAME}}}"
_FILTERS = (
    "Conditions on fields: `filter[draft]=true`, `filter[date][gte]=2026-01-01`, `filter[tags][contains]=sea`, "
    "`filter[title][missing]=true`. Operators: eq (default), gt, gte, lt, lte, contains, missing. "
    "Nested fields have dotted names."
)


@described(
    propertyNames={"pattern": f"^{_NAME}(\\]\\[({'|'.join(Operator)}))?$"},
    additionalProperties={"type": "string", "pattern": "^[^\\x00]*$", "maxLength": MAX_CHARACTERS},
    patternProperties={r"\]\[missing$": {"enum": ["true", "false"]}},
    maxProperties=MAX_FILTERS,
)
def _any_filter(_value: object) -> None:
    """Accept every filter. `parse_filters` validates them."""


class EntriesQuery(RequestSchema):
    """A folder of a branch with the fields, order and filters of its entries."""

    ref = fields.String(load_default=None, validate=branch_name)
    folder = fields.String(load_default=None, validate=plain_path, metadata={"example": "content/posts"})
    fields_ = fields.String(
        data_key="fields",
        load_default=None,
        validate=validate.Length(max=4_000),
        metadata={
            "pattern": f"^{_LISTED_NAME}(,{_LISTED_NAME}){{0,{MAX_FIELDS - 1}}}$",
            "description": "Names separated by commas. Default: all fields",
            "example": "title,date",
        },
    )
    sort = fields.String(
        load_default="path",
        validate=validate.Length(max=MAX_NAME + 1),
        metadata={
            "pattern": f"^-?{_NAME}$",
            "description": "A field, `-` before it for descending order. Entries without it are last",
        },
    )
    filter = fields.Dict(
        keys=fields.String(),
        values=fields.String(),
        load_default=dict,
        validate=_any_filter,
        metadata={"description": _FILTERS},
    )
    limit = fields.Integer(load_default=50, validate=validate.Range(min=1))
    cursor = fields.String(load_default=None, validate=validate.Length(max=6_000))

    @pre_load
    def _gather_filters(self, data: Mapping[str, str], **_kwargs: Any) -> dict[str, Any]:
        """Collect the parameters `filter[…]`."""
        named = {name: value for name, value in data.items() if name.startswith("filter[")}
        others = {name: value for name, value in data.items() if name not in named and name != "filter"}
        return others | {"filter": named}

    @post_load
    def build(self, data: dict[str, Any], **_kwargs: Any) -> dict[str, Any]:
        """Build the query of the service. The limit is clamped to the maximum."""
        names = data["fields_"]
        try:
            query = EntryQuery(
                folder=data["folder"],
                fields=None if names is None else field_names(names),
                order=parse_order(data["sort"]),
                filters=parse_filters(data["filter"]),
                limit=min(data["limit"], MAX_PAGE),
                cursor=data["cursor"],
            )
        except InvalidFilter as error:
            raise ValidationError(str(error), error.parameter) from error
        return {"ref": data["ref"], "entries": query}


class EntriesArguments(TypedDict):
    """The loaded form of `EntriesQuery`."""

    ref: str | None
    entries: EntryQuery


class EntriesMetaSchema(PassthroughSchema):
    """The position in the list, the commit of the list, and whether all front matter of this commit is read."""

    next_cursor = fields.String(allow_none=True)
    commit_sha = fields.String(allow_none=True, metadata=SHA)
    complete = fields.Boolean()


class EntrySchema(PassthroughSchema):
    """A content file with fields of its front matter. A field that is named but missing is null.

    `last_commit` is null while it is unknown.
    """

    path = fields.String(required=True, metadata={"example": "content/posts/hello.md"})
    sha = fields.String(required=True)
    fields_ = fields.Dict(
        data_key="fields",
        attribute="fields",
        required=True,
        keys=fields.String(),
        values=fields.Raw(allow_none=True),
        metadata={"example": {"title": "Hello", "date": "2026-01-02"}},
    )
    last_commit = fields.Nested(LastCommitSchema, required=True, allow_none=True)
