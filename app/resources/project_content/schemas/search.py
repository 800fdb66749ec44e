"""Queries and response schemas of search and backlinks."""

from dataclasses import dataclass
from typing import Annotated

from marshmallow import fields, validate

from app.http.json_schema import BranchName, full_sha
from app.http.validation import Cursor, Length, LimitField, ListQuery, RequestQuery, RequestSchema
from app.resources.project_content.schemas.content import FileQuery, without_nul

MAX_QUESTION = 400
LINK_KINDS = ["link", "image", "html", "wiki", "reference", "media", "style", "field"]


@dataclass(frozen=True, kw_only=True)
class SearchQuery(RequestQuery):
    """A search query with its branch, type and number of results."""

    q: Annotated[str, fields.String(required=True, validate=[Length(max=MAX_QUESTION), without_nul])]
    type: Annotated[
        str | None,
        fields.String(
            load_default=None,
            validate=[Length(min=1, max=80), without_nul],
            metadata={"pattern": "^[^\\x00]*$"},
        ),
    ]
    limit: Annotated[int, LimitField(load_default=20)]
    cursor: Cursor
    ref: BranchName


@dataclass(frozen=True, kw_only=True)
class BacklinksQuery(FileQuery, ListQuery):
    """The target of the links."""


class SnippetSchema(RequestSchema):
    """A part of a text in one line. `marks` are the [start, end] of the matching words."""

    text = fields.String()
    marks = fields.List(fields.List(fields.Integer()))


class SearchHitSchema(RequestSchema):
    """A matching file. A higher score is a better match."""

    path = fields.String()
    sha = fields.String(validate=full_sha)
    size = fields.Integer(allow_none=True)
    title = fields.String(allow_none=True)
    score = fields.Float()
    snippet = fields.Nested(
        SnippetSchema,
        allow_none=True,
        metadata={"description": "A part of the text. Null for a file without text, and before its text is indexed"},
    )


class WrittenLinkSchema(RequestSchema):
    """A link as written. Kinds: link, image, html, wiki, reference, media, style and field."""

    url = fields.String()
    kind = fields.String(validate=validate.OneOf(LINK_KINDS), metadata={"description": "The notation of the link"})


class BacklinkSchema(RequestSchema):
    """A file that links to the target."""

    path = fields.String()
    title = fields.String(allow_none=True)
    links = fields.List(
        fields.Nested(WrittenLinkSchema), metadata={"description": "The links to the target in the order of the file"}
    )
