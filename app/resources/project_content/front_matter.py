"""Structured edits: some front matter keys of one file, saved as a commit that changes nothing else in it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from app.core.content.front_matter_edit import CannotKeep, edit_front_matter
from app.core.errors import NotFound, Refused, TooLarge
from app.drivers.git.hosts import GitHosts
from app.drivers.git.port import Action, EntryType, FileChange, ObjectNotFound
from app.models.project import Project
from app.models.user import User
from app.resources.project_content import saving
from app.resources.project_content.commits import Edit, Save, SaveConflict
from app.resources.project_content.source import Source, source_of

MAX_FILE_BYTES = 5 * 1024 * 1024
TOO_LARGE = "The file is too large to be edited this way"


@dataclass(frozen=True)
class FrontMatterEdit:
    """Which keys of which file to set and to take out, and the commit and blob its editor started from."""

    file: str
    base_sha: str
    changes: Mapping[str, Any]
    unset: tuple[str, ...] = ()
    base_blob_sha: str | None = None
    branch: str | None = None
    message: str | None = None


@dataclass(frozen=True)
class Unchanged:
    """All keys have those values already: there is nothing to commit."""

    branch: str
    commit_sha: str


class KeepsNothing(Refused):
    """The file cannot be changed in that way without touching what else is in it (422)."""

    code = "CANNOT_KEEP"


def commit_to_host(project: Project, edit: FrontMatterEdit, *, by: User, hosts: GitHosts) -> saving.Saved | Unchanged:
    """Make the edit on the file as it was at the base, and commit it on the branch's head.

    Raises:
        NotFound: there was no such file at the base.
        KeepsNothing: the reason why it cannot be done.
        SaveConflict: the file has changed since, or the base is unknown.
    """
    source = source_of(project, hosts, branch=edit.branch, actor=by)
    before = _read(source, edit)
    try:
        after = edit_front_matter(edit.file, before, edit.changes, edit.unset)
    except CannotKeep as reason:
        raise KeepsNothing(str(reason)) from reason
    if after == before:
        return Unchanged(source.branch, edit.base_sha)
    change = Edit(FileChange(edit.file, Action.UPDATE, after), edit.base_blob_sha)
    message = edit.message or f"Edit the front matter of {edit.file}"
    save = Save(edit.base_sha, [change], message, None, saving.trailers_for(by))
    return saving.commit_to_host(project, save, branch=edit.branch, by=by, hosts=hosts)


def record(project: Project, saved: saving.Saved | Unchanged, *, by: User) -> dict[str, object]:
    """Write the commit into log and index, where there is one."""
    if isinstance(saved, Unchanged):
        return {"commit_sha": saved.commit_sha, "branch": saved.branch, "files": [], "url": None}
    return saving.record(project, saved, by=by)


def _read(source: Source, edit: FrontMatterEdit) -> bytes:
    try:
        found = source.git.entries(source.repo, edit.base_sha, [edit.file]).get(edit.file)
    except ObjectNotFound as unknown:
        head = source.git.head(source.repo, source.branch)
        raise SaveConflict(head, {edit.file: "The commit you started from is not part of this branch"}) from unknown
    if found is None or found.type != EntryType.BLOB:
        raise NotFound("There is no such file on this branch")
    if edit.base_blob_sha not in (None, found.sha):
        raise SaveConflict(edit.base_sha, {edit.file: "This file has changed since you opened it"})
    if (found.size or 0) > MAX_FILE_BYTES:
        raise TooLarge(TOO_LARGE)
    before = source.git.blob(source.repo, found.sha)
    if len(before) > MAX_FILE_BYTES:  # not every host tells the size before
        raise TooLarge(TOO_LARGE)
    return before
