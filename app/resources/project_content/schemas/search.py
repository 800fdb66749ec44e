"""Queries and response schemas of search and backlinks."""

from typing import Any, TypedDict

from marshmallow import fields, post_load, validate

from app.http.git_refs import branch_name, full_sha
from app.http.validation import RequestSchema
from app.resources.project_content.schemas.content import MAX_PAGE, without_nul

MAX_QUESTION = 400
LINK_KINDS = ["link", "image", "html", "wiki", "reference", "media", "style", "field"]


class SearchQuery(RequestSchema):
    """A search query with its branch, type and number of results."""

    q = fields.String(required=True, validate=[validate.Length(max=MAX_QUESTION), without_nul])
    type = fields.String(
        load_default=None, validate=[validate.Length(min=1, max=80), without_nul], metadata={"pattern": "^[^\\x00]*$"}
    )
    limit = fields.Integer(load_default=20, validate=validate.Range(min=1))
    ref = fields.String(load_default=None, validate=branch_name)

    @post_load
    def clamp(self, data: dict[str, Any], **_kwargs: Any) -> dict[str, Any]:
        """Clamp the limit to the maximum."""
        return data | {"limit": min(data["limit"], MAX_PAGE)}


class SearchArguments(TypedDict):
    """The loaded form of `SearchQuery`."""

    q: str
    type: str | None
    limit: int
    ref: str | None


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
    snippet = fields.Nested(SnippetSchema, allow_none=True)


class WrittenLinkSchema(RequestSchema):
    """A link as written. Kinds: link, image, html, wiki, reference, media, style and field."""

    url = fields.String()
    kind = fields.String(validate=validate.OneOf(LINK_KINDS))


class BacklinkSchema(RequestSchema):
    """A file that links to the target."""

    path = fields.String()
    title = fields.String(allow_none=True)
    links = fields.List(fields.Nested(WrittenLinkSchema))
