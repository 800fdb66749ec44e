"""Request body of a front matter edit."""

from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar

from marshmallow import ValidationError, fields

from app.http.json_schema import branch_name, full_sha, plain_path
from app.http.validation import KeyedDict, Length, RequestBody, StrictBoolean, text
from app.resources.project_content.saving.front_matter import FrontMatterEdit
from app.resources.project_content.schemas.content import VALIDATE

MAX_KEY, MAX_KEYS = 200, 256


@dataclass(frozen=True, kw_only=True)
class EditFrontMatterBody(RequestBody):
    """Keys of the front matter of a file that are set or removed."""

    file: Annotated[str, fields.String(required=True, validate=plain_path)]
    branch: Annotated[str | None, fields.String(load_default=None, allow_none=True, validate=branch_name)]
    base_sha: Annotated[str, fields.String(required=True, validate=full_sha)]
    base_blob_sha: Annotated[str | None, fields.String(load_default=None, allow_none=True, validate=full_sha)]
    changes: Annotated[
        dict[str, Any],
        KeyedDict(keys=fields.String(validate=Length(1, MAX_KEY)), values=fields.Raw(allow_none=True), data_key="set"),
    ] = field(default_factory=dict)
    unset: Annotated[
        list[str],
        fields.List(fields.String(validate=Length(1, MAX_KEY)), validate=Length(max=MAX_KEYS)),
    ] = field(default_factory=list)
    message: Annotated[str | None, text(1, 2_000, required=False, load_default=None, allow_none=True)]
    is_validated: Annotated[bool, StrictBoolean(data_key="validate", load_default=False, metadata=VALIDATE)]

    RULES: ClassVar[dict[str, Any]] = {
        "if": {"required": ["set"], "properties": {"set": {"type": "object", "minProperties": 1}}},
        "else": {"required": ["unset"], "properties": {"unset": {"type": "array", "minItems": 1}}},
    }

    def __post_init__(self) -> None:
        """Require a key. A key is either set or removed."""
        if not self.changes and not self.unset:
            raise ValidationError("Name the keys to set or to remove.", "set")
        if both := self.changes.keys() & set(self.unset):
            raise ValidationError(f"“{min(both)}” is both set and removed.", "unset")

    @property
    def edit(self) -> FrontMatterEdit:
        return FrontMatterEdit(
            file=self.file,
            base_sha=self.base_sha,
            changes=self.changes,
            unset=tuple(self.unset),
            base_blob_sha=self.base_blob_sha,
            branch=self.branch,
            message=self.message,
        )
