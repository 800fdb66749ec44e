"""Queries, request bodies and response schemas of the history of a project's files."""

from dataclasses import dataclass
from typing import Annotated, ClassVar

from marshmallow import ValidationError, fields, validate

from app.core.limits import InputLimits
from app.drivers.git.revisions import FileStatus
from app.http.json_schema import FilePathField, branch_name, exclusive, full_sha, plain_path
from app.http.validation import Length, PageQuery, PassthroughSchema, RequestBody, text
from app.resources.project_content.saving.restore import RestoreRequest

_SHA = "4f1c0f1f8a4f3c9f4d7f2b7e8e6a1f1de0f5a9c2"
_BASE = "9b2d5c7e1a3f4b6d8c0e2f4a6b8d0c2e4f6a8b0d"
_PATH = "content/posts/hello.md"


@dataclass(frozen=True, kw_only=True)
class HistoryQuery(PageQuery):
    """A file, and a branch or commit whose history is read."""

    file: Annotated[str | None, FilePathField(load_default=None, metadata={"example": _PATH})]
    ref: Annotated[str | None, fields.String(load_default=None, validate=branch_name, metadata={"example": "main"})]


@dataclass(frozen=True, kw_only=True)
class CompareQuery(PageQuery):
    """Two branches or commits, and optionally one file. The head is the working branch by default."""

    base: Annotated[str, fields.String(required=True, validate=branch_name, metadata={"example": _BASE})]
    head: Annotated[str | None, fields.String(load_default=None, validate=branch_name, metadata={"example": "main"})]
    file: Annotated[str | None, FilePathField(load_default=None, metadata={"example": _PATH})]
    cursor: Annotated[str | None, fields.String(load_default=None, validate=Length(max=2 * InputLimits.path_bytes))]


class CommitPersonSchema(PassthroughSchema):
    """A name and an e-mail of a commit."""

    name = fields.String(metadata={"example": "Ada Author"})
    email = fields.String(metadata={"example": "ada@example.org"})


class HistoryMetaSchema(PassthroughSchema):
    """The position in the list.

    `renames_followed` is false if the Git host ends the history of a file at its last rename.
    """

    next_cursor = fields.String(allow_none=True)
    renames_followed = fields.Boolean()


class HistoryCommitSchema(PassthroughSchema):
    """A commit of a history. `path` is the path of the file at this commit, null in the history of a branch."""

    sha = fields.String(metadata={"example": _SHA})
    message = fields.String(metadata={"example": "Edit hello.md"})
    author = fields.Nested(CommitPersonSchema)
    co_authors = fields.List(fields.Nested(CommitPersonSchema))
    user_id = fields.String(
        allow_none=True,
        metadata={"description": "The user who made the commit through this service", "example": "usr_2x9kq4m1zv"},
    )
    date = fields.String(metadata={"format": "date-time", "example": "2026-11-22T09:30:00.000Z"})
    path = fields.String(allow_none=True, metadata={"example": _PATH})


class DiffLineSchema(PassthroughSchema):
    """A line of a diff. Each range is the start and end of a changed part in characters."""

    type = fields.String(metadata={"enum": ["context", "added", "removed"], "example": "added"})
    text = fields.String(metadata={"example": "title: Hello again"})
    old_line = fields.Integer(allow_none=True, metadata={"example": None})
    new_line = fields.Integer(allow_none=True, metadata={"example": 2})
    has_newline = fields.Boolean()
    ranges = fields.List(fields.List(fields.Integer()), metadata={"example": [[12, 18]]})


class HunkSchema(PassthroughSchema):
    """Adjacent lines of a unified diff with three lines of context."""

    old_start = fields.Integer(metadata={"example": 1})
    old_lines = fields.Integer(metadata={"example": 5})
    new_start = fields.Integer(metadata={"example": 1})
    new_lines = fields.Integer(metadata={"example": 6})
    section = fields.String(metadata={"example": ""})
    lines = fields.List(
        fields.Nested(DiffLineSchema),
        metadata={"description": "Context, removed and added lines in the order of a unified diff"},
    )


class FrontMatterChangeSchema(PassthroughSchema):
    """A value of the front matter before and after. A missing value is null and named in `missing`."""

    pointer = fields.String(metadata={"example": "/title"})
    before = fields.Raw(allow_none=True, metadata={"description": "A JSON value", "example": "Hello"})
    after = fields.Raw(allow_none=True, metadata={"description": "A JSON value", "example": "Hello again"})
    missing = fields.List(
        fields.String(validate=validate.OneOf(["before", "after"])),
        metadata={"description": "The versions in which the value does not exist", "example": []},
    )


class FileVersionSchema(PassthroughSchema):
    """One version of a compared file. The URL is that of an image."""

    path = fields.String(metadata={"example": _PATH})
    commit_sha = fields.String(metadata={"example": _SHA})
    sha = fields.String(metadata={"example": "8ab686eafeb1f44702738c8b0f24f2567c36da6d"})
    mode = fields.String(metadata={"example": "100644"})
    size = fields.Integer(allow_none=True, metadata={"example": 214})
    url = fields.String(allow_none=True, metadata={"example": None})


class ChangedFileSchema(PassthroughSchema):
    """A path that differs. The fields from `binary` on have values if one file is compared."""

    path = fields.String(metadata={"example": _PATH})
    previous_path = fields.String(allow_none=True, metadata={"example": None})
    status = fields.String(metadata={"enum": [str(status) for status in FileStatus], "example": "modified"})
    additions = fields.Integer(allow_none=True, metadata={"example": 3})
    deletions = fields.Integer(allow_none=True, metadata={"example": 1})
    binary = fields.Boolean(
        allow_none=True, metadata={"description": "Whether a version is not text. Null unless one file is compared"}
    )
    before = fields.Nested(
        FileVersionSchema,
        allow_none=True,
        metadata={"description": "The version of the base, or null if the file was added"},
    )
    after = fields.Nested(
        FileVersionSchema,
        allow_none=True,
        metadata={"description": "The version of the head, or null if the file was deleted"},
    )
    diff = fields.List(
        fields.Nested(HunkSchema),
        allow_none=True,
        metadata={"description": "Null for a binary or too large file, and unless one file is compared"},
    )
    front_matter = fields.List(fields.Nested(FrontMatterChangeSchema), allow_none=True)
    truncated = fields.Boolean(metadata={"description": "Whether lines are missing because of a limit"})
    ranges_truncated = fields.Boolean(
        metadata={"description": "Changed words of some lines are missing because of a limit", "example": False}
    )


class ComparisonSchema(PassthroughSchema):
    """The difference of two commits. `truncated` is true if paths, counts or lines are missing because of a limit."""

    base_sha = fields.String(metadata={"example": _BASE})
    head_sha = fields.String(metadata={"example": _SHA})
    files = fields.List(fields.Nested(ChangedFileSchema), metadata={"description": "The paths that differ"})
    truncated = fields.Boolean(metadata={"example": False})


@dataclass(frozen=True, kw_only=True)
class RestoreVersionBody(RequestBody):
    """A file or folder, the commit that has the earlier version, and the commit from which the caller started."""

    file: Annotated[
        str | None,
        fields.String(load_default=None, allow_none=True, validate=plain_path, metadata={"example": _PATH}),
    ]
    folder: Annotated[
        str | None,
        fields.String(load_default=None, allow_none=True, validate=plain_path, metadata={"example": None}),
    ]
    commit_sha: Annotated[str, fields.String(required=True, validate=full_sha, metadata={"example": _BASE})]
    base_sha: Annotated[str, fields.String(required=True, validate=full_sha, metadata={"example": _SHA})]
    branch: Annotated[
        str | None,
        fields.String(load_default=None, allow_none=True, validate=branch_name, metadata={"example": "main"}),
    ]
    message: Annotated[
        str | None,
        text(1, 2_000, required=False, load_default=None, allow_none=True, metadata={"example": "Restore hello.md"}),
    ]

    RULES: ClassVar[dict[str, object]] = exclusive("file", "folder")

    def __post_init__(self) -> None:
        """Require exactly one of both paths."""
        if (self.file is None) == (self.folder is None):
            raise ValidationError("Give either a file or a folder.", "file")

    @property
    def request(self) -> RestoreRequest:
        return RestoreRequest(self.file or self.folder or "", self.file is None, self.commit_sha, self.base_sha)
