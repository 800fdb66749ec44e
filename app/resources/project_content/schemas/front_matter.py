"""Request body of a front matter edit."""

from typing import Any, TypedDict

from marshmallow import ValidationError, fields, post_load, pre_load, validate

from app.http.file_paths import plain_path
from app.http.git_refs import branch_name, full_sha
from app.http.validation import KeyedDict, RequestSchema, StrictBoolean, text, with_empty_as_null
from app.resources.project_content.front_matter import FrontMatterEdit
from app.resources.project_content.schemas.content import VALIDATE

MAX_KEY, MAX_KEYS = 200, 256


class EditFrontMatter(RequestSchema):
    """Keys of the front matter of a file that are set or removed."""

    file = fields.String(required=True, validate=plain_path)
    branch = fields.String(load_default=None, allow_none=True, validate=branch_name)
    base_sha = fields.String(required=True, validate=full_sha)
    base_blob_sha = fields.String(load_default=None, allow_none=True, validate=full_sha)
    set = KeyedDict(keys=fields.String(validate=validate.Length(1, MAX_KEY)), values=fields.Raw(allow_none=True))
    unset = fields.List(fields.String(validate=validate.Length(1, MAX_KEY)), validate=validate.Length(max=MAX_KEYS))
    message = text(1, 2_000, required=False, load_default=None, allow_none=True)

    is_validated = StrictBoolean(data_key="validate", load_default=False, metadata=VALIDATE)

    @pre_load
    def _clear_empty_fields(self, data: Any, **_kwargs: Any) -> Any:
        """Read an empty string in an optional field as null (contract, section 0)."""
        return with_empty_as_null(data, "branch", "base_blob_sha", "message")

    @post_load
    def gather(self, data: dict[str, Any], **_kwargs: Any) -> dict[str, Any]:
        """Build the edit. A key is either set or removed."""
        changes, unset = data.pop("set", {}), data.pop("unset", [])
        if not changes and not unset:
            raise ValidationError("Name the keys to set or to remove.", "set")
        if both := changes.keys() & set(unset):
            raise ValidationError(f"“{min(both)}” is both set and removed.", "unset")
        is_validated = data.pop("is_validated")
        return {"is_validated": is_validated, "edit": FrontMatterEdit(changes=changes, unset=tuple(unset), **data)}


class FrontMatterBody(TypedDict):
    """The loaded form of `EditFrontMatter`."""

    edit: FrontMatterEdit
    is_validated: bool
