"""Saving: several files as one commit, on the branch's present head, without ever overwriting anybody's work.

What was read (`base_sha`, `base_blob_sha`) is held against what is there now, path by path; only paths that others have
changed since are a conflict (contract, 4.9).
"""

import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from app.core.errors import Conflict, FieldError
from app.drivers.git.commit_message import create_git_commit_message
from app.drivers.git.port import Action, BranchMoved, Commit, EntryType, FileChange, PathConflict, TreeEntry
from app.resources.project_content.source import Source

ATTEMPTS = 30
"""A branch that moves between reading its head and writing is tried again; writers of one node take turns anyway."""

PATIENCE_S = 30.0
"""No attempt begins later than this: whoever saves is told rather than kept waiting."""


@dataclass(frozen=True)
class Edit:
    """One file of a save; `base_blob_sha` is the blob the editor started from, where the client tells it."""

    change: FileChange
    base_blob_sha: str | None = None

    @property
    def paths(self) -> tuple[str, ...]:
        """Every path the edit touches."""
        previous = self.change.previous_path
        return (self.change.path, previous) if previous else (self.change.path,)


@dataclass(frozen=True)
class Save:
    """What one save is to write."""

    base_sha: str
    edits: Sequence[Edit]
    message: str
    description: str | None = None
    trailers: Sequence[tuple[str, str]] = field(default=())


class SaveConflict(Conflict):
    """Some paths changed since they were read; nothing was written. `result` tells the head and the paths (409)."""

    message = "Some files have changed since you opened them; nothing was saved"

    def __init__(self, head_sha: str, faults: dict[str, str]) -> None:
        super().__init__(
            fields=[FieldError(path, fault) for path, fault in faults.items()],
            result={"head_sha": head_sha, "paths": list(faults)},
        )


def write(source: Source, save: Save) -> Commit:
    """Make the commit.

    Raises:
        SaveConflict: somebody else changed one of the paths, or the paths do not fit what is there.
    """
    message = create_git_commit_message(save.message, save.trailers, save.description)
    changes = [edit.change for edit in save.edits]
    with source.git.writing(source.repo, source.branch):
        until = time.monotonic() + PATIENCE_S
        for attempt in range(ATTEMPTS):
            if attempt and time.monotonic() > until:
                break
            head = source.git.head(source.repo, source.branch)
            faults = dict(_faults(source, save, head))
            if faults:
                raise SaveConflict(head, faults)
            try:
                return source.git.commit(source.repo, source.branch, changes, message, expected_head=head)
            except BranchMoved:
                continue
            except PathConflict as error:
                raise SaveConflict(head, dict.fromkeys(error.paths, str(error))) from error
    raise Conflict("The branch is moving too fast; nothing was saved, try again", code="BRANCH_BUSY")


def _faults(source: Source, save: Save, head: str) -> Iterator[tuple[str, str]]:
    """Path → why it cannot be written on this head."""
    touched = {path for edit in save.edits for path in edit.paths}
    if save.base_sha != head:
        if not source.git.is_ancestor(source.repo, save.base_sha, head):
            yield from ((path, "The commit you started from is not part of this branch") for path in sorted(touched))
            return
        changed = {change.path for change in source.git.changes(source.repo, save.base_sha, head)}
        yield from ((path, "This file has changed since you opened it") for path in sorted(changed & touched))
    there = source.git.entries(source.repo, head, sorted(touched))
    freed = set(_freed(save.edits))
    for edit in save.edits:
        yield from _misfits(edit, there, freed)


def _freed(edits: Iterable[Edit]) -> Iterator[str]:
    for edit in edits:
        if edit.change.action == Action.DELETE:
            yield edit.change.path
        if edit.change.previous_path:
            yield edit.change.previous_path


def _misfits(edit: Edit, there: dict[str, TreeEntry], freed: set[str]) -> Iterator[tuple[str, str]]:
    change = edit.change
    is_new = change.action in (Action.CREATE, Action.MOVE)
    if is_new and change.path in there and change.path not in freed:
        yield change.path, "There is already a file or folder of this name"
    origin = change.previous_path if change.action == Action.MOVE else change.path
    if change.action == Action.CREATE or origin is None:
        return
    found = there.get(origin)
    if found is None or found.type != EntryType.BLOB:
        yield origin, "There is no such file"
    elif edit.base_blob_sha is not None and found.sha != edit.base_blob_sha:
        yield origin, "This file has changed since you opened it"
