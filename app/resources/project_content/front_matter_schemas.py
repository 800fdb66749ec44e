"""The body of a structured edit of front matter."""

from typing import Any, TypedDict

from marshmallow import ValidationError, fields, post_load, validate

from app.http.file_paths import plain_path
from app.http.validation import Body, Entries, text
from app.resources.project_content.front_matter import FrontMatterEdit
from app.resources.project_content.schemas import branch_name, commit_sha

MAX_KEY, MAX_KEYS = 200, 256


class EditFrontMatter(Body):
    """Some keys of one file's front matter: set to values, or taken out."""

    file = fields.String(required=True, validate=plain_path)
    branch = fields.String(load_default=None, allow_none=True, validate=branch_name)
    base_sha = fields.String(required=True, validate=commit_sha)
    base_blob_sha = fields.String(load_default=None, allow_none=True, validate=commit_sha)
    set = Entries(keys=fields.String(validate=validate.Length(1, MAX_KEY)), values=fields.Raw(allow_none=True))
    unset = fields.List(fields.String(validate=validate.Length(1, MAX_KEY)), validate=validate.Length(max=MAX_KEYS))
    message = text(1, 2_000, required=False, load_default=None, allow_none=True)

    @post_load
    def gather(self, data: dict[str, Any], **_kwargs: Any) -> dict[str, Any]:
        """The edit as one value; a key is either set or taken out."""
        changes, unset = data.pop("set", {}), data.pop("unset", [])
        if not changes and not unset:
            raise ValidationError("Say which keys to set or to take out.", "set")
        if both := changes.keys() & set(unset):
            raise ValidationError(f"“{min(both)}” is both set and taken out.", "unset")
        return {"edit": FrontMatterEdit(changes=changes, unset=tuple(unset), **data)}


class FrontMatterBody(TypedDict):
    """`EditFrontMatter`, cleaned."""

    edit: FrontMatterEdit
