"""Changes of sets that were made at the Git host or with Git: commits, merges and deleted branches."""

from dataclasses import dataclass, replace

import sqlalchemy as sa

from app.database import transactions
from app.drivers.git.hosts import GitHosts
from app.drivers.git.port import Commit, PullRequests, PullRequestState
from app.extensions import db, jobs
from app.models.change_set import ChangeSet
from app.models.change_set import ChangeSetState as State
from app.models.project import Project
from app.resources.change_set import schedule, states
from app.resources.change_set.content import Content, read_content
from app.resources.change_set.errors import MissingBranch
from app.resources.change_set.events import ChangeSetEvent, change_set_moved
from app.resources.change_set.publishing import record_published, saved_of
from app.resources.change_set.service import update_content
from app.resources.change_set.states import OPEN
from app.resources.project_content.saving.commit_builder import Saved, SaveRequest
from app.resources.project_content.source import Source, source_of

DELETED = "The branch of this change set was deleted"


@dataclass(frozen=True)
class _HostState:
    """The state of an open set at its host. All values are None if its branch was deleted."""

    content: Content | None = None
    merged: Saved | None = None


def follow(change_set_id: str, *, hosts: GitHosts) -> None:
    """Record what happened to an open set at its Git host. Raises the errors of the host."""
    row = db.session.get(ChangeSet, change_set_id)
    project = db.session.get(Project, row.project_id) if row is not None else None
    if row is None or project is None or row.state not in OPEN or not project.repository:
        return
    with transactions.outside_transaction():
        state = _read(row, source_of(project, hosts))
    with transactions.write_transaction():
        present = states.locked(row.id)
        if present.state in OPEN and present.version == row.version:
            _record(present, state)


def _read(row: ChangeSet, source: Source) -> _HostState:
    own = replace(source, branch=row.branch)
    if isinstance(source.git, PullRequests):
        for request in source.git.pull_requests(source.repo):
            is_own = (request.head, request.base) == (row.branch, source.branch)
            if is_own and request.state == PullRequestState.MERGED and request.merge_sha is not None:
                return _HostState(merged=saved_of(row, source, request.merge_sha))
    try:
        content = read_content(own, row, source.branch)
    except MissingBranch:
        return _HostState(merged=_merged(row, source, row.base_sha, row.head_sha))
    return _HostState(content, _merged(row, source, content.base_sha, content.head_sha))


def _merged(row: ChangeSet, source: Source, base_sha: str, head_sha: str) -> Saved | None:
    """Return the head of a set as its publication, if the working branch contains it."""
    start = row.base_sha if base_sha == head_sha else base_sha
    if head_sha == start:
        return None
    main = source.git.head(source.repo, source.branch)
    if not source.git.is_ancestor(source.repo, head_sha, main):
        return None
    commit = Commit(head_sha, start, ())
    return Saved(row.project_id, source.branch, commit, SaveRequest(start, (), row.title))


def _record(row: ChangeSet, state: _HostState) -> None:
    if state.merged is not None:
        record_published(row, state.merged)
    elif state.content is not None:
        update_content(row, state.content)
    else:
        schedule.remove(row)
        states.move(row, State.CLOSED, problem=DELETED)
        change_set_moved.publish(row, ChangeSetEvent.CLOSED)


def enqueue_follow(*conditions: sa.ColumnElement[bool]) -> None:
    """Enqueue a check of the open sets that fulfil conditions on `ChangeSet` and `Project`."""
    statement = sa.select(ChangeSet.id).join(Project, Project.id == ChangeSet.project_id)
    for set_id in db.session.scalars(statement.where(ChangeSet.state.in_(OPEN), *conditions)).all():
        jobs.enqueue("change_sets.follow", unique=f"change_sets.follow:{set_id}", change_set_id=set_id)
