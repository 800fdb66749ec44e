"""Request bodies, queries and response schemas of project content (contract 4.9)."""

import base64
import binascii
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar

from marshmallow import ValidationError, fields, post_load, pre_load, validate

from app.core.errors import PayloadTooLarge
from app.core.limits import CommitLimits
from app.drivers.git.port import Action, FileChange
from app.http.json_schema import OPTIONAL, BranchName, FilePathField, branch_name, full_sha, plain_path
from app.http.validation import (
    DateTimeMs,
    KeyedDict,
    Length,
    ListQuery,
    RequestBody,
    RequestQuery,
    RequestSchema,
    StrictBoolean,
    text,
)
from app.models.project_content import IndexStatus
from app.resources.project_content.save_request import FileEdit
from app.resources.project_content.saving.front_matter import FrontMatterEdit
from app.resources.project_content.saving.merging import MergeRequest
from app.resources.project_content.schemas.results import (
    ENTRY_TYPES,
    MODE,
    HeadingSchema,
    MergeConflictSchema,
    OutlineLinkSchema,
)

MAX_FILES, MAX_BYTES = CommitLimits.files, CommitLimits.bytes
VALIDATE = {"description": "Refuse values that do not match the schema of the branch with 400"}
ON_CONFLICT = {
    "description": "`merge` merges files that have changed since the base. `refuse` returns 409 with their paths",
    "example": "merge",
}
REFUSE, MERGE = "refuse", "merge"
BASE_RULES: dict[str, object] = {
    "if": {"required": ["on_conflict"], "properties": {"on_conflict": {"const": MERGE}}},
    "else": {"required": ["base_sha"], "properties": {"base_sha": {"type": "string"}}},
}
"""Only a merge can do without the base commit."""
MAX_KEY, MAX_KEYS = 200, 256


def without_nul(value: str) -> None:
    """Refuse U+0000, which PostgreSQL cannot store."""
    if "\0" in value:
        raise ValidationError("Must not contain NUL.")


@dataclass(frozen=True, kw_only=True)
class TreeQuery(ListQuery):
    """A branch and a part of its tree. Without a limit and a cursor, the result is not a page."""

    ref: BranchName
    path: Annotated[str | None, fields.String(load_default=None, validate=plain_path)]


@dataclass(frozen=True, kw_only=True)
class BranchQuery(RequestQuery):
    """A branch, the working branch by default."""

    ref: BranchName


@dataclass(frozen=True, kw_only=True)
class FileQuery(RequestQuery):
    """One file of a branch."""

    file: Annotated[str, FilePathField(required=True)]
    ref: BranchName


@dataclass(frozen=True, kw_only=True)
class FileAtRefQuery(FileQuery):
    """One file of a branch, or of a commit that a branch contains."""

    ref: Annotated[
        str | None,
        fields.String(
            load_default=None,
            validate=branch_name,
            metadata={"description": "A branch or the full sha of a commit", "example": "main"},
        ),
    ]


class LastCommitSchema(RequestSchema):
    """The newest commit that changed a file."""

    sha = fields.String(validate=full_sha)
    message = fields.String()
    author = fields.String()
    date = fields.String(metadata={"format": "date-time"})


class FileMetadataSchema(RequestSchema):
    """The metadata of a file. `unreadable` is true if it is missing or damaged in the repository."""

    path = fields.String()
    name = fields.String()
    extension = fields.String()
    type = fields.String(validate=validate.OneOf(ENTRY_TYPES))
    unreadable = fields.Boolean(metadata={"description": "Whether the file is missing or damaged in the repository"})
    size = fields.Integer(allow_none=True)
    sha = fields.String(validate=full_sha)
    mode = fields.String(metadata=MODE)
    mime = fields.String()
    language = fields.String(allow_none=True)
    encoding = fields.String(allow_none=True)
    lines = fields.Integer(allow_none=True)
    front_matter = fields.Raw(allow_none=True, metadata={"type": "object", "additionalProperties": {}})
    title = fields.String(allow_none=True)
    headings = fields.List(
        fields.Nested(HeadingSchema),
        metadata={"description": "In the order of the file. Empty for other files than Markdown"},
    )
    links = fields.List(
        fields.Nested(OutlineLinkSchema),
        metadata={"description": "In the order of the file. Empty for other files than Markdown"},
    )
    commit_sha = fields.String(allow_none=True, validate=full_sha)
    last_commit = fields.Nested(
        LastCommitSchema,
        allow_none=True,
        metadata={"description": "The newest commit that changed the file, or null while it is unknown"},
    )
    indexed_at = DateTimeMs(allow_none=True)


class _ContentField(fields.String):
    """The content of a file: a text, or bytes in a call within the process."""

    def _deserialize(self, value: object, *args: object, **kwargs: object) -> Any:
        return value if isinstance(value, bytes) else super()._deserialize(value, *args, **kwargs)


class EditedFileSchema(RequestSchema):
    """One file of a save."""

    RULES: ClassVar[dict[str, object]] = {
        "if": {"properties": {"action": {"const": Action.MOVE.value}}},
        "then": {"required": ["previous_path"], "properties": {"previous_path": {"type": "string"}}},
        "else": {
            "properties": {"previous_path": {"type": "null"}},
            "if": {"properties": {"action": {"enum": [Action.CREATE.value, Action.UPDATE.value]}}},
            "then": {"required": ["content"], "properties": {"content": {"type": "string"}}},
        },
    }

    path = fields.String(required=True, validate=plain_path)
    action = fields.String(required=True, validate=validate.OneOf([str(action) for action in Action]))
    content = _ContentField(load_default=None, allow_none=True)
    encoding = fields.String(
        load_default="utf-8",
        validate=validate.OneOf(["utf-8", "base64"]),
        metadata={"description": "The encoding of `content`. Binary files need `base64`"},
    )
    previous_path = fields.String(load_default=None, allow_none=True, validate=plain_path)
    base_blob_sha = fields.String(load_default=None, allow_none=True, validate=full_sha)

    @pre_load
    def _drop_empty_fields(self, data: object, **_kwargs: object) -> object:
        """Read an empty string in an optional field as not given (contract, section 0). Content may be empty."""
        optional = ("encoding", "previous_path", "base_blob_sha")
        if not isinstance(data, dict):
            return data
        return {name: value for name, value in data.items() if value != "" or name not in optional}

    @post_load
    def decode(self, data: dict[str, Any], **_kwargs: object) -> FileEdit:
        """Decode the content and check the rules between the fields."""
        action = Action(data["action"])
        content = _decoded(data["content"], data["encoding"])
        if action in (Action.CREATE, Action.UPDATE) and content is None:
            raise ValidationError("The content of the file is required.", "content")
        if (action == Action.MOVE) != (data["previous_path"] is not None):
            raise ValidationError("A move needs the previous path, other actions must not have one.", "previous_path")
        if action == Action.MOVE and data["previous_path"] == data["path"]:
            raise ValidationError("The file already has this path.", "previous_path")
        written = None if action == Action.DELETE else content
        return FileEdit(FileChange(data["path"], action, written, data["previous_path"]), data["base_blob_sha"])


def _decoded(content: str | bytes | None, encoding: str) -> bytes | None:
    if content is None or isinstance(content, bytes):
        return content
    if encoding == "utf-8":
        return content.encode()
    try:
        return base64.b64decode(content, validate=True)
    except (binascii.Error, ValueError) as error:
        raise ValidationError("This is not valid base64.", "content") from error


def require_base(base_sha: str | None, on_conflict: str) -> None:
    """Require the base commit of a save, unless it merges."""
    if base_sha is None and on_conflict == REFUSE:
        raise ValidationError(fields.Field.default_error_messages["required"], "base_sha")


@dataclass(frozen=True, kw_only=True)
class EditedFilesBody(RequestBody):
    """The files of a save, and the version on which they are based."""

    description: Annotated[
        str | None,
        fields.String(
            load_default=None,
            allow_none=True,
            validate=Length(max=20_000),
            metadata={"description": "The text below the subject of the commit message"},
        ),
    ]
    base_sha: Annotated[str | None, fields.String(load_default=None, allow_none=True, validate=full_sha)]
    files: Annotated[
        list[FileEdit],
        fields.List(
            fields.Nested(EditedFileSchema),
            required=True,
            validate=validate.Length(min=1),
            metadata={"description": f"At most {MAX_FILES} changes. Each path occurs once"},
        ),
    ]
    is_validated: Annotated[bool, StrictBoolean(data_key="validate", load_default=False, metadata=VALIDATE)]
    on_conflict: Annotated[
        str, fields.String(load_default=REFUSE, validate=validate.OneOf([REFUSE, MERGE]), metadata=ON_CONFLICT)
    ]

    @property
    def merges(self) -> bool:
        """True if files that have changed since the base are merged."""
        return self.on_conflict == MERGE

    @classmethod
    def normalize(cls, data: dict[str, object]) -> dict[str, object]:
        """Refuse too many files with 413 before each is validated."""
        files = data.get("files")
        if isinstance(files, list) and len(files) > MAX_FILES:
            raise PayloadTooLarge(f"A commit can contain at most {MAX_FILES} files")
        return data

    def __post_init__(self) -> None:
        """Require a total size within the limit, distinct paths, and one change of each file.

        A file may be created in the place of a moved one.
        """
        if sum(len(edit.change.content or b"") for edit in self.files) > MAX_BYTES:
            raise PayloadTooLarge(f"A commit can contain at most {MAX_BYTES // 1024 // 1024} MiB")
        paths: set[str] = set()
        origins: set[str] = set()
        for number, edit in enumerate(self.files):
            change = edit.change
            if change.path in paths:
                raise ValidationError({"files": {number: {"path": ["This path occurs twice in the commit."]}}})
            paths.add(change.path)
            if change.action == Action.CREATE:
                continue
            field, origin = (
                ("previous_path" if change.action == Action.MOVE else "path"),
                change.previous_path or change.path,
            )
            if origin in origins:
                raise ValidationError({"files": {number: {field: ["Another change of this commit uses this file."]}}})
            origins.add(origin)


@dataclass(frozen=True, kw_only=True)
class MergePreviewBody(EditedFilesBody):
    """The files of a save whose merge with the branch is calculated. The message is not used."""

    message: Annotated[str | None, text(1, 2_000, required=False, load_default=None, allow_none=True)]
    branch: Annotated[str | None, fields.String(load_default=None, allow_none=True, validate=branch_name)]

    @property
    def request(self) -> MergeRequest:
        return MergeRequest(self.base_sha, self.files, self.message or "", self.description)


@dataclass(frozen=True, kw_only=True)
class SaveFilesBody(EditedFilesBody):
    """A save of all its files in one commit."""

    RULES: ClassVar[dict[str, object]] = BASE_RULES

    message: Annotated[str, text(1, 2_000)]

    def __post_init__(self) -> None:
        """Require a base, and valid files."""
        require_base(self.base_sha, self.on_conflict)
        super().__post_init__()

    @property
    def request(self) -> MergeRequest:
        return MergeRequest(self.base_sha, self.files, self.message, self.description)


@dataclass(frozen=True, kw_only=True)
class CommitFilesBody(SaveFilesBody):
    """A save on the working branch or another one."""

    branch: Annotated[str | None, fields.String(load_default=None, allow_none=True, validate=branch_name)]


class CommittedFileSchema(RequestSchema):
    """A path of a commit and its new blob, null if it was deleted."""

    path = fields.String()
    sha = fields.String(allow_none=True, validate=full_sha)


class MergedPathSchema(RequestSchema):
    """A file that changed on both sides and was merged."""

    path = fields.String()
    fields_ = fields.List(
        fields.String(),
        data_key="fields",
        attribute="fields",
        metadata={"description": "JSON pointers of the values that were taken from the request"},
    )


class CommittedSchema(RequestSchema):
    """A commit."""

    commit_sha = fields.String(validate=full_sha)
    branch = fields.String()
    files = fields.List(fields.Nested(CommittedFileSchema), metadata={"description": "The changed paths"})
    url = fields.String(allow_none=True)
    merged = fields.List(
        fields.Nested(MergedPathSchema),
        metadata=OPTIONAL | {"description": "The merged files. Only for `on_conflict: merge`"},
    )


class PreviewedFileSchema(RequestSchema):
    """A file that the save would write. `content` is null if it would be deleted."""

    path = fields.String()
    content = fields.String(allow_none=True, metadata={"description": "The merged content, or null"})
    encoding = fields.String(
        validate=validate.OneOf(["utf-8", "base64"]), metadata={"description": "The encoding of `content`"}
    )


class MergePreviewSchema(RequestSchema):
    """The outcome of a merge that was not saved. With conflicts, a save would write nothing."""

    mergeable = fields.List(
        fields.String(), metadata={"description": "The paths that changed on both sides and can be merged"}
    )
    conflicts = fields.List(
        fields.Nested(MergeConflictSchema), metadata={"description": "The parts that cannot be merged, at most 500"}
    )
    files = fields.List(
        fields.Nested(PreviewedFileSchema), metadata={"description": "The paths that a save would write or delete"}
    )


class QueuedJobSchema(RequestSchema):
    """A requested job. The id is null if a call was already waiting."""

    job_id = fields.String(allow_none=True)
    status = fields.String(validate=validate.OneOf([str(status) for status in IndexStatus]))


@dataclass(frozen=True, kw_only=True)
class EditFrontMatterBody(RequestBody):
    """Keys of the front matter of a file that are set or removed."""

    file: Annotated[str, fields.String(required=True, validate=plain_path)]
    branch: Annotated[str | None, fields.String(load_default=None, allow_none=True, validate=branch_name)]
    base_sha: Annotated[str | None, fields.String(load_default=None, allow_none=True, validate=full_sha)]
    base_blob_sha: Annotated[str | None, fields.String(load_default=None, allow_none=True, validate=full_sha)]
    changes: Annotated[
        dict[str, object],
        KeyedDict(
            keys=fields.String(validate=Length(1, MAX_KEY)),
            values=fields.Raw(allow_none=True),
            data_key="set",
            metadata={"description": "The new values by key. Null is a value: `unset` removes a key"},
        ),
    ] = field(default_factory=dict)
    unset: Annotated[
        list[str],
        fields.List(fields.String(validate=Length(1, MAX_KEY)), validate=Length(max=MAX_KEYS)),
    ] = field(default_factory=list)
    message: Annotated[str | None, text(1, 2_000, required=False, load_default=None, allow_none=True)]
    is_validated: Annotated[bool, StrictBoolean(data_key="validate", load_default=False, metadata=VALIDATE)]
    on_conflict: Annotated[
        str, fields.String(load_default=REFUSE, validate=validate.OneOf([REFUSE, MERGE]), metadata=ON_CONFLICT)
    ]

    RULES: ClassVar[dict[str, Any]] = {
        "if": {"required": ["set"], "properties": {"set": {"type": "object", "minProperties": 1}}},
        "then": BASE_RULES,
        "else": {
            "required": ["unset"],
            "properties": {"unset": {"type": "array", "items": {}, "minItems": 1}},
            **BASE_RULES,
        },
    }

    def __post_init__(self) -> None:
        """Require a base and a key. A key is either set or removed."""
        require_base(self.base_sha, self.on_conflict)
        if not self.changes and not self.unset:
            raise ValidationError("Name the keys to set or to remove.", "set")
        if both := self.changes.keys() & set(self.unset):
            raise ValidationError(f"“{min(both)}” is both set and removed.", "unset")

    @property
    def merges(self) -> bool:
        """True if a file that has changed since the base is merged."""
        return self.on_conflict == MERGE

    @property
    def edit(self) -> FrontMatterEdit:
        return FrontMatterEdit(
            file=self.file,
            base_sha=self.base_sha,
            changes=self.changes,
            unset=tuple(self.unset),
            base_blob_sha=self.base_blob_sha,
            message=self.message,
        )
