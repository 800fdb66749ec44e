"""Query and response schemas of entries."""

from dataclasses import dataclass
from functools import cached_property
from typing import Annotated

from marshmallow import ValidationError, fields

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
from app.http.json_schema import SHA, BranchName, described, plain_path
from app.http.validation import Length, LimitField, PassthroughSchema, RequestQuery
from app.resources.project_content.entries.entry_pages import EntryQuery
from app.resources.project_content.schemas.content import LastCommitSchema

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


@dataclass(frozen=True, kw_only=True)
class EntriesQuery(RequestQuery):
    """A folder of a branch with the fields, order and filters of its entries."""

    ref: BranchName
    folder: Annotated[
        str | None, fields.String(load_default=None, validate=plain_path, metadata={"example": "content/posts"})
    ]
    names: Annotated[
        str | None,
        fields.String(
            data_key="fields",
            load_default=None,
            validate=Length(max=4_000),
            metadata={
                "pattern": f"^{_LISTED_NAME}(,{_LISTED_NAME}){{0,{MAX_FIELDS - 1}}}$",
                "description": "Names separated by commas. Default: all fields",
                "example": "title,date",
            },
        ),
    ]
    sort: Annotated[
        str,
        fields.String(
            load_default="path",
            validate=Length(max=MAX_NAME + 1),
            metadata={
                "pattern": f"^-?{_NAME}$",
                "description": "A field, `-` before it for descending order. Entries without it are last",
            },
        ),
    ]
    filter: Annotated[
        dict[str, str],
        fields.Dict(
            keys=fields.String(),
            values=fields.String(),
            load_default=dict,
            validate=_any_filter,
            metadata={"description": _FILTERS, "example": {"draft": "true"}},
        ),
    ]
    limit: Annotated[int, LimitField()]
    cursor: Annotated[str | None, fields.String(load_default=None, validate=Length(max=6_000))]

    @classmethod
    def normalize(cls, data: dict[str, object]) -> dict[str, object]:
        """Collect the parameters `filter[…]`."""
        named = {name: value for name, value in data.items() if name.startswith("filter[")}
        others = {name: value for name, value in data.items() if name not in named and name != "filter"}
        return others | {"filter": named}

    def __post_init__(self) -> None:
        """Refuse invalid names, an invalid order and invalid filters."""
        try:
            _ = self.entries
        except InvalidFilter as error:
            raise ValidationError(str(error), error.parameter) from error

    @cached_property
    def entries(self) -> EntryQuery:
        return EntryQuery(
            folder=self.folder,
            fields=None if self.names is None else field_names(self.names),
            order=parse_order(self.sort),
            filters=parse_filters(self.filter),
            limit=self.limit,
            cursor=self.cursor,
        )


class EntriesMetaSchema(PassthroughSchema):
    """The position in the list, the commit of the list, and whether all front matter of this commit is read."""

    next_cursor = fields.String(allow_none=True)
    commit_sha = fields.String(allow_none=True, metadata=SHA)
    complete = fields.Boolean(metadata={"description": "Whether the front matter of all files of the commit was read"})


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
    last_commit = fields.Nested(
        LastCommitSchema,
        required=True,
        allow_none=True,
        metadata={"description": "The newest commit that changed the file, or null while it is unknown"},
    )
