"""Queries and results of search and of backlinks."""

from typing import Any, TypedDict

from marshmallow import fields, post_load, validate

from app.http.validation import Body
from app.resources.project_content.schemas import MAX_PAGE, branch_name, without_nul

MAX_QUESTION = 400


class SearchQuery(Body):
    """What is looked for, in which branch, and how much of it."""

    q = fields.String(required=True, validate=[validate.Length(max=MAX_QUESTION), without_nul])
    type = fields.String(load_default=None, validate=[validate.Length(min=1, max=80), without_nul])
    limit = fields.Integer(load_default=20, validate=validate.Range(min=1))
    ref = fields.String(load_default=None, validate=branch_name)

    @post_load
    def clamp(self, data: dict[str, Any], **_kwargs: Any) -> dict[str, Any]:
        """A limit above the maximum is clamped."""
        return data | {"limit": min(data["limit"], MAX_PAGE)}


class SearchArguments(TypedDict):
    """`SearchQuery`, cleaned."""

    q: str
    type: str | None
    limit: int
    ref: str | None


class Snippet(Body):
    """A piece of a file's text on one line; `marks` are the [start, end] of the words that were found in it."""

    text = fields.String()
    marks = fields.List(fields.List(fields.Integer()))


class SearchHit(Body):
    """A file that was found; the higher its score, the better it fits."""

    path = fields.String()
    sha = fields.String()
    size = fields.Integer(allow_none=True)
    title = fields.String(allow_none=True)
    score = fields.Float()
    snippet = fields.Nested(Snippet, allow_none=True)


class WrittenLink(Body):
    """A link as it is written; its kind is how: link, image, html, wiki, reference, media, style or field."""

    url = fields.String()
    kind = fields.String()


class BacklinkShape(Body):
    """A file that leads to another."""

    path = fields.String()
    title = fields.String(allow_none=True)
    links = fields.List(fields.Nested(WrittenLink))
