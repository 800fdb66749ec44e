"""Edits of front matter keys that keep every other byte of a file."""

from collections.abc import Mapping
from dataclasses import dataclass

from app.content.front_matter.editor import UnsupportedEdit, edit_front_matter
from app.core.errors import NotFound, PayloadTooLarge, UnprocessableEntity
from app.drivers.git.commit_plan import SYMLINK
from app.drivers.git.errors import TooLargeToRead
from app.drivers.git.port import Action, EntryType, FileChange
from app.resources.project_content.save_request import FileEdit
from app.resources.project_content.saving.commit_builder import (
    CHANGED_FILE,
    LinkNotEditable,
    NoChange,
    SaveConflict,
    require_base,
    require_unchanged,
)
from app.resources.project_content.saving.merging import MergePlanner, MergeRequest
from app.resources.project_content.source import Source

MAX_FILE_BYTES = 5 * 1024 * 1024
TOO_LARGE = "The file is too large to be edited this way"


@dataclass(frozen=True)
class FrontMatterEdit:
    """The keys of a file to set and to remove, with the commit and blob on which the edit is based."""

    file: str
    base_sha: str | None
    changes: Mapping[str, object]
    unset: tuple[str, ...] = ()
    base_blob_sha: str | None = None
    message: str | None = None

    @property
    def default_message(self) -> str:
        return f"Edit the front matter of {self.file}"


class EditNotPossible(UnprocessableEntity):
    """An edit that would change other content of the file (422)."""

    code = "CANNOT_KEEP"


def apply_edit(source: Source, edit: FrontMatterEdit) -> FileEdit | NoChange:
    """Apply the edit to the file at the base and return the new bytes, or NoChange if they are equal.

    Raises:
        NotFound: the file does not exist at the base.
        EditNotPossible: the edit would change other content of the file.
        SaveConflict: the file has changed, or the base is unknown.
    """
    base_sha = edit.base_sha or ""  # The schema requires it.
    before = _read(source, edit, base_sha)
    after = _edited(edit, before)
    if after == before:
        return NoChange(source.branch, require_unchanged(source, base_sha, edit.file))
    return FileEdit(FileChange(edit.file, Action.UPDATE, after), edit.base_blob_sha)


def plan_edit(source: Source, edit: FrontMatterEdit) -> MergeRequest:
    """Apply the edit to the file at the base and return the merge with the branch.

    Raises:
        NotFound: the file does not exist at the base.
        EditNotPossible: the edit would change other content of the file.
        BaseRequired, MissingBase: the base is unknown.
    """
    message = edit.message or edit.default_message
    change = FileEdit(FileChange(edit.file, Action.UPDATE, b""), edit.base_blob_sha)
    before = MergePlanner(source, MergeRequest(edit.base_sha, [change], message)).read_base(change)
    if before is None:
        raise NotFound("There is no such file on this branch")
    after = FileEdit(FileChange(edit.file, Action.UPDATE, _edited(edit, before)), edit.base_blob_sha)
    return MergeRequest(edit.base_sha, [after], message)


def _edited(edit: FrontMatterEdit, before: bytes) -> bytes:
    if len(before) > MAX_FILE_BYTES:
        raise PayloadTooLarge(TOO_LARGE)
    try:
        return edit_front_matter(edit.file, before, edit.changes, edit.unset)
    except UnsupportedEdit as reason:
        raise EditNotPossible(str(reason)) from reason


def _read(source: Source, edit: FrontMatterEdit, base_sha: str) -> bytes:
    require_base(source, base_sha, [edit.file])
    entry = source.repository.entries(base_sha, [edit.file]).get(edit.file)
    if entry is None or entry.type != EntryType.BLOB:
        raise NotFound("There is no such file on this branch")
    if edit.base_blob_sha not in (None, entry.sha):
        raise SaveConflict(base_sha, {edit.file: CHANGED_FILE})
    if entry.mode == SYMLINK:
        raise LinkNotEditable
    try:
        return source.repository.blob(entry.sha, max_bytes=MAX_FILE_BYTES)
    except TooLargeToRead as error:
        raise PayloadTooLarge(TOO_LARGE) from error
