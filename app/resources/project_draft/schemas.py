"""Bodies, queries and results of drafts."""

from dataclasses import dataclass
from typing import Annotated

from marshmallow import fields

from app.http.json_schema import BranchName, FilePathField, full_sha
from app.http.validation import DateTimeMs, Length, ListQuery, RequestBody, RequestSchema

MAX_CHARACTERS = 900_000


@dataclass(frozen=True, kw_only=True)
class DraftsQuery(ListQuery):
    """One file of a branch, or the drafts of the branch."""

    file: Annotated[str | None, FilePathField(load_default=None)]
    ref: BranchName


@dataclass(frozen=True, kw_only=True)
class SaveDraftBody(RequestBody):
    """The text of a draft and the blob on which it is based: null for a new file.

    `base_sha` is the commit at which the blob was read.
    """

    content: Annotated[str, fields.String(required=True, validate=Length(max=MAX_CHARACTERS))]
    base_blob_sha: Annotated[str | None, fields.String(load_default=None, allow_none=True, validate=full_sha)]
    base_sha: Annotated[
        str | None,
        fields.String(
            load_default=None,
            allow_none=True,
            validate=full_sha,
            metadata={
                "description": "The commit at which the base was read. Without it, very old versions are refused"
            },
        ),
    ]


class ListedDraftSchema(RequestSchema):
    """A draft without its content. `conflict` is true if the file changed since the draft was started."""

    file = fields.String(attribute="draft.file")
    branch = fields.String(attribute="draft.branch")
    base_blob_sha = fields.String(attribute="draft.base_blob_sha", allow_none=True)
    current_blob_sha = fields.String(allow_none=True)
    conflict = fields.Boolean()
    createdAt = DateTimeMs(attribute="draft.created_at")  # noqa: N815 (wire name)
    updatedAt = DateTimeMs(attribute="draft.updated_at")  # noqa: N815 (wire name)


class DraftSchema(ListedDraftSchema):
    """A draft with its content."""

    content = fields.String(
        attribute="draft.content", metadata={"description": "The complete text of the file with the front matter"}
    )


class DraftsSchema(DraftSchema):
    """A draft with its content if the query names a file, else the drafts of the branch."""

    LISTED = ListedDraftSchema
    """The schema of an item if the result is a list. The OpenAPI document describes both."""

    def dump(self, obj: object, *, many: bool | None = None) -> object:
        """Dump a draft or a list of drafts."""
        return ListedDraftSchema(many=True).dump(obj) if isinstance(obj, list) else DraftSchema().dump(obj)


class DeletedDraftSchema(RequestSchema):
    """A draft that was deleted."""

    file = fields.String()
    deleted = fields.Boolean()
