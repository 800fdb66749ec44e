"""Moves of changed pages from one open set to another one of its project, each with all files of its entry.

The branch of the other set receives the changes first, then that of the first set loses them. If the second commit
fails, both sets have the changes, and the same move completes it.
"""

import posixpath
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

import sqlalchemy as sa
import structlog

from app.content.entry_files import folder_of_index, folders_above, is_page, is_section
from app.core.errors import ErrorMessage, FieldError, InvalidRequest
from app.core.ids import is_id
from app.core.outbound import LateRecord, UnrecordedAct
from app.database import transactions
from app.drivers.git.revisions import Revisions
from app.extensions import db
from app.models.change_set import ChangeSet, ChangeSetComment
from app.resources.change_set import commits, content, queries, service, states
from app.resources.change_set.commits import SetCommit
from app.resources.change_set.content import Content
from app.resources.change_set.errors import NothingToMove, StateConflict
from app.resources.change_set.member_set import MemberSet
from app.resources.change_set.queries import Shown
from app.resources.change_set.states import Step
from app.resources.project_content.actions import save_files
from app.resources.project_content.entry_changes import read_entries
from app.resources.project_content.save_request import FileEdit
from app.resources.project_content.saving.commits import create_merged_commit
from app.resources.project_content.saving.merging import MergePlanner, MergeRequest
from app.resources.project_content.saving.refusals import MoveRefused
from app.resources.project_content.saving.restore import edits_between
from app.resources.project_content.service import UnrecordedSave, unrecorded
from app.resources.project_content.source import Source

OTHER_SET = ErrorMessage("These changes do not exist. Choose others.")

log = structlog.get_logger(__name__)


@dataclass(frozen=True)
class MovedChange:
    """The changes of some files of a set: the edits that make them, and those that take them back."""

    content: Content
    paths: Sequence[str]
    edits: Sequence[FileEdit]
    reverse: Sequence[FileEdit]
    trailers: Sequence[tuple[str, str]]

    @property
    def name(self) -> str:
        """The name of the files in the messages of the commits."""
        return self.paths[0] if len(self.paths) == 1 else f"{len(self.paths)} files"


def move(target: MemberSet, paths: Sequence[str], to: str) -> UnrecordedAct[Shown]:
    """Move the changes of files with those of their entries to another set. `complete` is False if both sets have them.

    The authors of the set are authors of the other one, so that they do not approve their own changes. The comments on
    the files follow.

    Raises:
        InvalidRequest: `to` is not another set of the project.
        NothingToMove: the set does not change one of the files.
        MoveRefused: the other set conflicts. Nothing is written.
        StateConflict, SetBusy, MissingBranch, PayloadTooLarge, RestoreNotPossible, and the errors of the Git host.
    """
    other = _other_set(target, to)
    shown = target.shown(target.change_set), other.shown(other.change_set)
    with _held(target, other) as (own_row, other_row):
        with transactions.outside_transaction():
            change = _read(target, own_row, paths)
            present = content.read_content(other.branch.source(), other_row, target.project.branch)
        _copy_authors(target, other)
        added = commits.write(other, present, change.edits, _addition(target, other, change))
        removed = _remove(target, other, change, is_required=not added.has_effect)

    def record() -> Shown:
        _record(added, removed, target)
        if removed is not None:
            _move_comments(target.change_set, other.change_set, change.paths)
        return result(target.shown(target.change_set), other.shown(other.change_set))

    def result(own: Shown, of_other: Shown) -> Shown:
        return {"change_set": own, "to": of_other, "paths": list(change.paths), "complete": removed is not None}

    if not added.has_effect and not (removed is not None and removed.has_effect):
        return UnrecordedAct(record)
    late_jobs = removed.late_jobs if removed is not None else target.release_jobs
    return UnrecordedAct(record, LateRecord(result(*shown), [*added.late_jobs, *late_jobs]))


def _other_set(target: MemberSet, set_id: str) -> MemberSet:
    row = db.session.get(ChangeSet, set_id) if is_id(set_id, "chg") and set_id != target.change_set.id else None
    if row is None or row.project_id != target.project.id:
        raise InvalidRequest.field("to", OTHER_SET)
    return MemberSet(row, target.site, target.role)


@contextmanager
def _held(target: MemberSet, other: MemberSet) -> Iterator[tuple[ChangeSet, ChangeSet]]:
    """Hold two sets, in the order of their ids, so that two moves never wait for each other."""
    own_id, other_id = target.change_set.id, other.change_set.id
    with ExitStack() as stack:
        rows = {set_id: stack.enter_context(states.held(set_id, Step.COMMIT)) for set_id in sorted((own_id, other_id))}
        yield rows[own_id], rows[other_id]


def _read(target: MemberSet, row: ChangeSet, paths: Sequence[str]) -> MovedChange:
    """Return the changes of the entries of some files. A repeated request finds none if they are moved already."""
    source, by = target.branch.source(), target.site.by
    present = content.read_content(source, row, target.project.branch)
    changed = {change.path for change in source.repository.changes(present.base_sha, present.head_sha)}
    missing = [path for path in paths if path not in changed]
    if missing and not by.is_retry:
        raise NothingToMove(fields=[FieldError(path, NothingToMove.message) for path in missing])
    moved = _with_entries(source, present, changed, set(paths) & changed, target.project.generator)
    before = source.repository.entries(present.base_sha, moved)
    after = source.repository.entries(present.head_sha, moved)
    return MovedChange(
        present,
        moved or sorted(set(paths)),
        list(edits_between(source, {path: after.get(path) for path in moved}, before)),
        list(edits_between(source, {path: before.get(path) for path in moved}, after)),
        content.co_author_trailers(content.people_of(source, present.base_sha, present.head_sha, paths=set(moved))),
    )


def _with_entries(
    source: Source, present: Content, changed: set[str], paths: set[str], generator: str | None
) -> list[str]:
    """Return the changed files of the entries of some files, also those at their former paths."""
    owners = _owners(source, present, changed, generator)
    former = _renames(source, present)
    moved_owners = {owners[path] for path in paths}
    while True:
        moved = {path for path in changed if owners[path] in moved_owners}
        renamed = {other for pair in former if not moved.isdisjoint(pair) for other in pair} & changed
        moved_owners |= {owners[path] for path in renamed}
        if renamed <= moved:
            return sorted(moved)


def _owners(source: Source, present: Content, changed: Iterable[str], generator: str | None) -> dict[str, str]:
    """Return the folder of the entry to which each changed file belongs, else its own path."""
    pages = sorted(path for path in changed if folder_of_index(path, generator) is not None)
    folders: dict[str, bool] = {}
    for commit in (present.base_sha, present.head_sha):
        at_commit = source.repository.entries(commit, pages)
        for entry in read_entries(source, commit, [path for path in pages if path in at_commit], generator):
            if entry.folder is not None:
                folders[entry.folder] = is_section(entry.page)
    return {path: _owner(path, folders) for path in changed}


def _owner(path: str, folders: dict[str, bool]) -> str:
    folder = next((folder for folder in folders_above(path) if folder in folders), None)
    if folder is None or not folders[folder]:
        return folder or path
    # Other pages of a section, and files in folders below it, are no part of its entry.
    is_other = posixpath.dirname(path) != folder or (is_page(path) and folder_of_index(path) != folder)
    return path if is_other else folder


def _renames(source: Source, present: Content) -> list[tuple[str, str]]:
    if not isinstance(source.repository, Revisions):
        return []
    files = source.repository.compare(present.base_sha, present.head_sha).files
    return [(file.previous_path, file.path) for file in files if file.previous_path is not None]


def _copy_authors(target: MemberSet, other: MemberSet) -> None:
    """Make the authors of a set authors of another one, before its branch has their changes."""
    with transactions.write_transaction():
        for user_id in queries.author_ids(target.change_set.id):
            service.add_author(other.change_set.id, user_id)


def _addition(target: MemberSet, other: MemberSet, change: MovedChange) -> Callable[[], UnrecordedSave]:
    """Return the save of a change in another set, merged with its files."""
    source, by = other.branch.source(), target.site.by
    message = f"Move {change.name} from “{target.change_set.title}”"

    def save() -> UnrecordedSave:
        request = MergeRequest(change.content.base_sha, change.edits, message)
        planner = MergePlanner(source, request, refusal=MoveRefused)
        saved = create_merged_commit(
            target.project.id, source, planner, by=by, creates_index=False, trailers=change.trailers
        )
        return unrecorded(saved, by=by)

    return save


def _remove(target: MemberSet, other: MemberSet, change: MovedChange, *, is_required: bool) -> SetCommit | None:
    """Restore the base of the files in their set. None if this fails after the other set has received them."""
    message = f"Move {change.name} to “{other.change_set.title}”"
    request = MergeRequest(change.content.head_sha, change.reverse, message)

    def save() -> UnrecordedSave:
        return save_files(target.branch, request, creates_index=False)

    if not change.reverse:  # A repeated request.
        return SetCommit(target, (), UnrecordedAct(dict), change.content)
    try:
        return commits.write(target, change.content, change.reverse, save)
    except Exception as error:
        if is_required:
            raise
        transactions.rollback()
        log.exception("change_set.move_not_completed", change_set_id=target.change_set.id, error=type(error).__name__)
        return None


def _record(added: SetCommit, removed: SetCommit | None, target: MemberSet) -> None:
    """Record both commits, in the order of the ids of their sets."""
    written = [added] if removed is None else [added, removed]
    for commit in sorted(written, key=lambda commit: commit.target.change_set.id):
        try:
            commit.record()
        except StateConflict:  # The set was published or closed at its host.
            if commit is added:
                raise
            target.release()
    if removed is None:
        target.release()


def _move_comments(change_set: ChangeSet, other: ChangeSet, paths: Sequence[str]) -> None:
    own = ChangeSetComment.change_set_id == change_set.id, ChangeSetComment.path.in_(paths)
    db.session.execute(sa.update(ChangeSetComment).where(*own).values(change_set_id=other.id))
