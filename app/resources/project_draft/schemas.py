"""Bodies, queries and results of drafts."""

from typing import Any, TypedDict

from marshmallow import ValidationError, fields, validate

from app.core.refs import is_branch_name, is_sha
from app.http.file_paths import OnePath
from app.http.validation import Body, Moment

MAX_CHARACTERS = 900_000


def branch_name(value: str) -> None:
    """The branch-name rule as a validator."""
    if not is_branch_name(value):
        raise ValidationError("This cannot be the name of a branch.")


def blob_sha(value: str) -> None:
    """A whole sha as a validator."""
    if not is_sha(value):
        raise ValidationError("This is not the 40 hexadecimal digits of a blob.")


class DraftQuery(Body):
    """Which file of which branch."""

    file = OnePath(required=True)
    ref = fields.String(load_default=None, validate=branch_name)


class DraftsQuery(Body):
    """One file, or all of a branch."""

    file = OnePath(load_default=None)
    ref = fields.String(load_default=None, validate=branch_name)


class DraftArguments(TypedDict):
    """`DraftQuery`, cleaned."""

    file: str
    ref: str | None


class DraftsArguments(TypedDict):
    """`DraftsQuery`, cleaned."""

    file: str | None
    ref: str | None


class KeepDraft(Body):
    """What was typed, and the blob it was started from: null for a file that is new."""

    content = fields.String(required=True, validate=validate.Length(max=MAX_CHARACTERS))
    base_blob_sha = fields.String(load_default=None, allow_none=True, validate=blob_sha)


class KeepDraftBody(TypedDict):
    """`KeepDraft`, cleaned."""

    content: str
    base_blob_sha: str | None


class DraftListed(Body):
    """A draft without its content; `conflict` tells that the file is no longer what it was started from."""

    file = fields.String(attribute="draft.file")
    branch = fields.String(attribute="draft.branch")
    base_blob_sha = fields.String(attribute="draft.base_blob_sha", allow_none=True)
    current_blob_sha = fields.String(allow_none=True)
    conflict = fields.Boolean()
    createdAt = Moment(attribute="draft.created_at")  # noqa: N815 (wire name)
    updatedAt = Moment(attribute="draft.updated_at")  # noqa: N815 (wire name)


class Draft(DraftListed):
    """A draft whole."""

    content = fields.String(attribute="draft.content")


class Drafts(Draft):
    """One draft whole where a file was named, else the list of a branch's."""

    LISTED = DraftListed
    """The schema of an item where the answer is a list; the document tells of both."""

    def dump(self, obj: Any, *, many: bool | None = None) -> Any:
        """Dump by what is there."""
        return DraftListed(many=True).dump(obj) if isinstance(obj, list) else Draft().dump(obj)


class Dropped(Body):
    """A draft that is gone."""

    file = fields.String()
    deleted = fields.Boolean()
