"""Bodies, queries and results of project content (contract, 4.9)."""

import base64
import binascii
from collections.abc import Mapping
from typing import Any, NotRequired, TypedDict

from marshmallow import ValidationError, fields, post_load, pre_load, validate, validates_schema

from app.core.errors import TooLarge
from app.core.refs import is_branch_name, is_sha
from app.drivers.git.port import Action, FileChange
from app.http.file_paths import OnePath, plain_path
from app.http.validation import Body, Moment, Page, text
from app.resources.project_content.commits import Edit

MAX_FILES, MAX_BYTES = 300, 25 * 1024 * 1024
MAX_PAGE = 100


def branch_name(value: str) -> None:
    """The branch-name rule as a validator."""
    if not is_branch_name(value):
        raise ValidationError("This cannot be the name of a branch.")


def commit_sha(value: str) -> None:
    """A whole sha as a validator."""
    if not is_sha(value):
        raise ValidationError("This is not the 40 hexadecimal digits of a commit.")


def without_nul(value: str) -> None:
    """What no store's text can hold, as a validator."""
    if "\0" in value:
        raise ValidationError("May not hold NUL.")


class TreeQuery(Page):
    """Which part of which branch's tree."""

    limit = fields.Integer(load_default=None, validate=validate.Range(min=1))
    ref = fields.String(load_default=None, validate=branch_name)
    path = fields.String(load_default=None, validate=plain_path)

    @post_load
    def clamp(self, data: dict[str, Any], **_kwargs: Any) -> dict[str, Any]:
        """A limit above the maximum is clamped; a cursor without a limit has the default one."""
        if data["limit"] is None and data["cursor"]:
            data["limit"] = 50
        if data["limit"] is not None:
            data["limit"] = min(data["limit"], MAX_PAGE)
        return data


class TreeArguments(TypedDict):
    """`TreeQuery`, cleaned."""

    ref: str | None
    path: str | None
    limit: int | None
    cursor: str | None


class BranchQuery(Body):
    """A branch; the working one where none is named."""

    ref = fields.String(load_default=None, validate=branch_name)


class BranchArguments(TypedDict):
    """`BranchQuery`, cleaned."""

    ref: str | None


class FileQuery(Body):
    """One file of a branch."""

    file = OnePath(required=True)
    ref = fields.String(load_default=None, validate=branch_name)


class FileArguments(TypedDict):
    """`FileQuery`, cleaned."""

    file: str
    ref: str | None


class LastCommit(Body):
    """The newest commit that changed a file."""

    sha = fields.String()
    message = fields.String()
    author = fields.String()
    date = fields.String()


class FileMetadata(Body):
    """What is known of one file."""

    path = fields.String()
    name = fields.String()
    extension = fields.String()
    type = fields.String()
    size = fields.Integer(allow_none=True)
    sha = fields.String()
    mode = fields.String()
    mime = fields.String()
    language = fields.String(allow_none=True)
    encoding = fields.String(allow_none=True)
    lines = fields.Integer(allow_none=True)
    front_matter = fields.Raw(allow_none=True)
    title = fields.String(allow_none=True)
    headings = fields.List(fields.Raw())
    links = fields.List(fields.Raw())
    commit_sha = fields.String()
    last_commit = fields.Nested(LastCommit, allow_none=True)
    indexed_at = Moment(allow_none=True)


class EditedFile(Body):
    """One file of a save."""

    path = fields.String(required=True, validate=plain_path)
    action = fields.String(required=True, validate=validate.OneOf([str(action) for action in Action]))
    content = fields.String(load_default=None, allow_none=True)
    encoding = fields.String(load_default="utf-8", validate=validate.OneOf(["utf-8", "base64"]))
    previous_path = fields.String(load_default=None, allow_none=True, validate=plain_path)
    base_blob_sha = fields.String(load_default=None, allow_none=True, validate=commit_sha)

    @post_load
    def decode(self, data: dict[str, Any], **_kwargs: Any) -> Edit:
        """The bytes to write, and the rules between the fields."""
        action = Action(data["action"])
        content = _decoded(data["content"], data["encoding"])
        if action in (Action.CREATE, Action.UPDATE) and content is None:
            raise ValidationError("Give the content of the file.", "content")
        if (action == Action.MOVE) != (data["previous_path"] is not None):
            raise ValidationError("Give the previous path of a moved file, and only of one.", "previous_path")
        if action == Action.MOVE and data["previous_path"] == data["path"]:
            raise ValidationError("The file is already there.", "previous_path")
        kept = None if action == Action.DELETE else content
        return Edit(FileChange(data["path"], action, kept, data["previous_path"]), data["base_blob_sha"])


def _decoded(content: str | None, encoding: str) -> bytes | None:
    if content is None:
        return None
    if encoding == "utf-8":
        return content.encode()
    try:
        return base64.b64decode(content, validate=True)
    except (binascii.Error, ValueError) as error:
        raise ValidationError("This is not valid base64.", "content") from error


class MakeCommit(Body):
    """A save: all files or none."""

    message = text(1, 2_000)
    description = fields.String(load_default=None, allow_none=True, validate=validate.Length(max=20_000))
    branch = fields.String(load_default=None, allow_none=True, validate=branch_name)
    base_sha = fields.String(required=True, validate=commit_sha)
    files = fields.List(fields.Nested(EditedFile), required=True, validate=validate.Length(min=1))

    @pre_load
    def bound(self, data: Mapping[str, Any], **_kwargs: Any) -> Mapping[str, Any]:
        """More files than one commit takes are 413, before each is looked at."""
        files = data.get("files")
        if isinstance(files, list) and len(files) > MAX_FILES:
            raise TooLarge(f"One commit takes at most {MAX_FILES} files")
        return data

    @validates_schema
    def distinct(self, data: dict[str, Any], **_kwargs: Any) -> None:
        """Each path once; all bytes within the bound."""
        edits: list[Edit] = data.get("files", [])
        if sum(len(edit.change.content or b"") for edit in edits) > MAX_BYTES:
            raise TooLarge(f"One commit takes at most {MAX_BYTES // 1024 // 1024} MiB")
        seen: set[str] = set()
        for number, edit in enumerate(edits):
            if edit.change.path in seen:
                raise ValidationError({"files": {number: {"path": ["This path stands twice in one commit."]}}})
            seen.add(edit.change.path)

    @validates_schema
    def possible(self, data: dict[str, Any], **_kwargs: Any) -> None:
        """No file is both moved away and changed, deleted or moved away again; another may be made in its place."""
        taken: set[str] = set()
        for number, edit in enumerate(data.get("files", [])):
            change: FileChange = edit.change
            field = "previous_path" if change.action == Action.MOVE else "path"
            origin = change.previous_path or change.path
            if change.action != Action.CREATE and origin in taken:
                raise ValidationError({"files": {number: {field: ["Another change of this commit takes this file."]}}})
            taken |= {origin} if change.action != Action.CREATE else set()


class CommitBody(TypedDict):
    """`MakeCommit`, cleaned."""

    message: str
    description: NotRequired[str | None]
    branch: str | None
    base_sha: str
    files: list[Edit]


class CommittedFile(Body):
    """A path of a commit and its new blob, null when it is gone."""

    path = fields.String()
    sha = fields.String(allow_none=True)


class Committed(Body):
    """A commit made."""

    commit_sha = fields.String()
    branch = fields.String()
    files = fields.List(fields.Nested(CommittedFile))
    url = fields.String(allow_none=True)


class Queued(Body):
    """A job asked for; null when one was waiting already."""

    job_id = fields.String(allow_none=True)
    status = fields.String()
