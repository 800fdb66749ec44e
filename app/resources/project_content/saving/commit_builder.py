"""Commits of several files on the present head of a branch that never overwrite the work of another person.

The base of the edits (`base_sha`, `base_blob_sha`) is compared with the head path by path. Only changed paths are a
conflict (contract 4.9).
"""

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from app.core.errors import Conflict, ErrorMessage, FieldError, UnprocessableEntity
from app.drivers.git.commit_plan import SYMLINK
from app.drivers.git.errors import BranchMoved, PathConflict
from app.drivers.git.port import Action, Commit, EntryType, TreeEntry
from app.resources.project_content.save_request import FileEdit, SaveRequest
from app.resources.project_content.source import Source

ATTEMPTS = 30
"""A branch that moves between the read of its head and the write is tried again. Writers of one node are serial."""

DEADLINE_S = 30.0
"""No attempt starts later than this, so that the caller receives a response."""
MISSING_FILE = "The file does not exist"
CHANGED_FILE = ErrorMessage("This file has changed since you opened it")
NOT_AN_ANCESTOR = "The commit you started from is not part of this branch"
MISSING_MESSAGE = "The file does not exist on this branch. Nothing was saved. Use the action create for a new file"


@dataclass(frozen=True)
class MergedPath:
    """A path that changed on both sides and was merged. `fields` are pointers of the values that the save changed."""

    path: str
    fields: tuple[str, ...]


@dataclass(frozen=True)
class Saved:
    """A commit that the host accepted, with its save. `merged` is None if the save refuses changed files.

    With `creates_index` False, an index of the branch is updated but not created.
    """

    project_id: str
    branch: str
    commit: Commit
    save: SaveRequest
    merged: tuple[MergedPath, ...] | None = None
    creates_index: bool = True


@dataclass(frozen=True)
class NoChange:
    """An edit without an effect. There is nothing to commit. `commit_sha` is the head of the branch."""

    branch: str
    commit_sha: str
    merged: tuple[MergedPath, ...] | None = None


@dataclass(frozen=True)
class PlannedSave:
    """The edits that are written on one head of the branch, with the paths that were merged for it."""

    save: SaveRequest
    merged: tuple[MergedPath, ...] | None = None


Written = tuple[Commit, PlannedSave]
"""A commit with its save."""

Plan = Callable[[str], PlannedSave | Written]
"""A function that returns the save for a head of the branch, or the commit of an earlier attempt.

A save without edits is not written.
"""


class SaveConflict(Conflict):
    """A conflict with paths that changed since the base (409).

    Nothing was written; `result` names the head and the paths.
    """

    message: str = ErrorMessage("Some files have changed since you opened them. Nothing was saved")
    fault = CHANGED_FILE

    def __init__(self, head_sha: str, faults: dict[str, str]) -> None:
        reasons, self.head_sha, self.paths = set(faults.values()), head_sha, frozenset(faults)
        is_changed = not reasons.isdisjoint({self.fault, NOT_AN_ANCESTOR})
        super().__init__(
            None if is_changed else MISSING_MESSAGE if reasons == {MISSING_FILE} else next(iter(faults.values()), None),
            fields=[FieldError(path, fault) for path, fault in faults.items()],
            result={"head_sha": head_sha, "paths": list(faults)},
        )


class LinkNotEditable(UnprocessableEntity):
    """A change that would write the text of a page into a symbolic link (422)."""

    code = "CANNOT_KEEP"
    message = "A symbolic link cannot be edited. Nothing was saved. Edit the file to which it leads"


def write(source: Source, save: SaveRequest, *, deadline_s: float = DEADLINE_S) -> Commit:
    """Create the commit.

    Raises:
        SaveConflict: one of the paths has changed, or the paths do not fit the tree.
        Conflict: the branch moved at every attempt before the deadline.
    """

    def plan(head: str) -> PlannedSave:
        faults = dict(_faults(source, save, head))
        if faults:
            raise SaveConflict(head, faults)
        return PlannedSave(save)

    written = write_planned(source, plan, deadline_s=deadline_s)
    if isinstance(written, NoChange):
        raise ValueError("the save has no files")  # noqa: TRY004 - the schemas require a file.
    return written[0]


def write_planned(source: Source, plan: Plan, *, deadline_s: float = DEADLINE_S) -> Written | NoChange:
    """Create the commit of a planned save, or return NoChange if the plan for the present head has no edits.

    Raises:
        SaveConflict: the changes do not fit the tree. `plan` may raise it too.
        Conflict: the branch moved at every attempt before the deadline.
    """
    with source.repository.branch_lock(source.branch):
        until = time.monotonic() + deadline_s
        for attempt in range(ATTEMPTS):
            if attempt and time.monotonic() > until:
                break
            head = source.repository.head(source.branch)
            planned = plan(head)
            if isinstance(planned, tuple):
                return planned
            save, changes = planned.save, [edit.change for edit in planned.save.edits]
            if not changes:
                return NoChange(source.branch, head, planned.merged)
            message, author = save.commit_message, save.attribution.author
            try:
                commit = source.repository.commit(source.branch, changes, message, expected_head=head, author=author)
            except BranchMoved:
                continue
            except PathConflict as error:
                raise SaveConflict(head, dict.fromkeys(error.paths, str(error))) from error
            return commit, planned
    raise Conflict("The branch changes too often. Nothing was saved; try again", code="BRANCH_BUSY")


def require_base(source: Source, base_sha: str, paths: Iterable[str]) -> None:
    """Require that the branch contains the commit from which edits started, before its files are read.

    Raises:
        SaveConflict: the branch does not contain it.
    """
    head = source.repository.head(source.branch)
    if base_sha != head and not source.repository.is_ancestor(base_sha, head):
        raise SaveConflict(head, dict.fromkeys(paths, NOT_AN_ANCESTOR))


def require_unchanged(source: Source, base_sha: str, path: str, *, is_folder: bool = False) -> str:
    """Return the head of the branch, if the path has not changed since the base.

    An edit without an effect on its base has one if the branch contains another version in the meantime.

    Raises:
        SaveConflict: the path has changed, or the base is not part of the branch.
    """
    head = source.repository.head(source.branch)
    if head == base_sha:
        return head
    if not source.repository.is_ancestor(base_sha, head):
        raise SaveConflict(head, {path: NOT_AN_ANCESTOR})
    changed = [change.path for change in source.repository.changes(base_sha, head)]
    faults = [
        changed_path
        for changed_path in changed
        if changed_path == path or (is_folder and changed_path.startswith(f"{path}/"))
    ]
    if faults:
        raise SaveConflict(head, dict.fromkeys(faults, CHANGED_FILE))
    return head


def _faults(source: Source, save: SaveRequest, head: str) -> Iterator[tuple[str, str]]:
    """Yield each path that cannot be written on this head, with the reason."""
    touched = {path for edit in save.edits for path in edit.paths}
    if save.base_sha != head:
        if not source.repository.is_ancestor(save.base_sha, head):
            yield from ((path, NOT_AN_ANCESTOR) for path in sorted(touched))
            return
        changed = {change.path for change in source.repository.changes(save.base_sha, head)}
        yield from ((path, CHANGED_FILE) for path in sorted(changed & touched))
    entries = source.repository.entries(head, sorted(touched))
    vacated = set(_vacated_paths(save.edits))
    for edit in save.edits:
        yield from _conflicting_paths(edit, entries, vacated)


def _vacated_paths(edits: Iterable[FileEdit]) -> Iterator[str]:
    for edit in edits:
        if edit.change.action == Action.DELETE:
            yield edit.change.path
        if edit.change.previous_path:
            yield edit.change.previous_path


def _conflicting_paths(edit: FileEdit, entries: dict[str, TreeEntry], vacated: set[str]) -> Iterator[tuple[str, str]]:
    change = edit.change
    is_new = change.action in (Action.CREATE, Action.MOVE)
    if is_new and change.path in entries and change.path not in vacated:
        yield change.path, ErrorMessage("A file or folder of this name already exists")
    origin = change.previous_path if change.action == Action.MOVE else change.path
    if change.action == Action.CREATE or origin is None:
        return
    entry = entries.get(origin)
    if entry is None or entry.type != EntryType.BLOB:
        yield origin, MISSING_FILE
    elif edit.base_blob_sha is not None and entry.sha != edit.base_blob_sha:
        yield origin, CHANGED_FILE
    elif entry.mode == SYMLINK and change.content is not None:
        raise LinkNotEditable(fields=[FieldError(origin, LinkNotEditable.message)])
