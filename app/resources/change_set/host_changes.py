"""Changes of sets that were made at the Git host or with Git: commits, merges and deleted branches."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta

import sqlalchemy as sa

from app.database import transactions
from app.drivers.git.hosts import GitHosts
from app.drivers.git.port import Commit, PullRequest, PullRequests, PullRequestState
from app.extensions import db, jobs
from app.models.change_set import ChangeSet
from app.models.project import Project
from app.resources.change_set import schedule, states
from app.resources.change_set.content import Content, read_content_at
from app.resources.change_set.publishing import commit_before, record_published
from app.resources.change_set.service import update_content
from app.resources.change_set.states import OPEN, Step
from app.resources.project_content.save_request import SaveRequest
from app.resources.project_content.saving.commit_builder import Saved
from app.resources.project_content.source import Source, source_of

DELETED = "The branch of this change set was deleted"
RETRY_DELAY = timedelta(seconds=5)


@dataclass(frozen=True)
class _HostState:
    """The state of an open set at its host. All values are None if its branch was deleted."""

    content: Content | None = None
    merged: Saved | None = None


@dataclass(frozen=True)
class _Repository:
    """The branches of a repository with their heads, and the merged pull requests by the name of their branch."""

    source: Source
    heads: Mapping[str, str]
    merged: Mapping[str, PullRequest]

    @property
    def main(self) -> str | None:
        """The head of the working branch."""
        return self.heads.get(self.source.branch)


def follow(project_id: str, change_set_id: str | None, *, hosts: GitHosts) -> None:
    """Record what happened to open sets of a project at its Git host. Raises the errors of the host.

    A set that a request or another job changes at the same time is read again later.
    """
    project = db.session.get(Project, project_id)
    if project is None or not project.repository:
        return
    rows = _open_sets(project_id, change_set_id)
    if not rows:
        return
    with transactions.outside_transaction():
        repository = _read_repository(source_of(project, hosts))
        results = [(row.id, row.head_sha, _read(row, repository)) for row in rows]
    for set_id, head, state in results:
        with transactions.write_transaction():
            present = states.locked(set_id)
            if present.state not in OPEN:
                continue
            if present.head_sha != head or states.is_busy(present):
                _enqueue(present.project_id, set_id, delay=RETRY_DELAY)
            else:
                _record(present, state)


def _open_sets(project_id: str, change_set_id: str | None) -> Sequence[ChangeSet]:
    statement = sa.select(ChangeSet).where(ChangeSet.project_id == project_id, ChangeSet.state.in_(OPEN))
    if change_set_id is not None:
        statement = statement.where(ChangeSet.id == change_set_id)
    return db.session.scalars(statement.order_by(ChangeSet.id)).all()


def _read_repository(source: Source) -> _Repository:
    at_host = source.repository
    heads = {branch.name: branch.sha for branch in at_host.branches()}
    merged = dict[str, PullRequest]()
    if isinstance(at_host, PullRequests):
        for request in at_host.pull_requests():
            if request.state == PullRequestState.MERGED and request.base == source.branch:
                merged.setdefault(request.head, request)
    return _Repository(source, heads, merged)


def _read(row: ChangeSet, repository: _Repository) -> _HostState:
    source, head = repository.source, repository.heads.get(row.branch)
    content = None
    if head is not None:
        content = read_content_at(replace(source, branch=row.branch), row, source.branch, (row.head_sha, head))
    request = repository.merged.get(row.branch)
    if request is not None and request.merge_sha is not None:
        parent = commit_before(row, source, request.merge_sha, request.head_sha or row.head_sha)
        return _HostState(content, _saved(row, source, parent, request.merge_sha))
    return _HostState(content, _merged(row, repository, content))


def _merged(row: ChangeSet, repository: _Repository, content: Content | None) -> Saved | None:
    """Return the head of a set as its publication, if the working branch contains it without a pull request."""
    source, head = repository.source, content.head_sha if content else row.head_sha
    # The base of a merged branch is its head.
    start = content.base_sha if content and content.base_sha != head else row.base_sha
    if repository.main is None or start in (head, repository.main):
        return None
    is_merged = source.repository.is_ancestor(head, repository.main)
    return _saved(row, source, start, head) if is_merged else None


def _saved(row: ChangeSet, source: Source, parent: str, sha: str) -> Saved:
    return Saved(row.project_id, source.branch, Commit(sha, parent, ()), SaveRequest(parent, (), row.title))


def _record(row: ChangeSet, state: _HostState) -> None:
    if state.merged is not None:
        if state.content is not None:
            row.head_sha = state.content.head_sha  # The branch is deleted at this commit.
        record_published(row, state.merged)
    elif state.content is not None:
        update_content(row, state.content)
    else:
        schedule.remove(row)
        states.take(row, Step.CLOSE, problem=DELETED)


def enqueue_follow(*conditions: sa.ColumnElement[bool]) -> None:
    """Enqueue a check of the open sets that fulfil conditions on `ChangeSet` and `Project`.

    A project of which several sets fulfil them is checked with few calls to its host.
    """
    statement = sa.select(ChangeSet.project_id, sa.func.count(), sa.func.min(ChangeSet.id))
    joined = statement.join(Project, Project.id == ChangeSet.project_id)
    matching = joined.where(ChangeSet.state.in_(OPEN), *conditions).group_by(ChangeSet.project_id)
    for project_id, count, set_id in db.session.execute(matching).all():
        _enqueue(project_id, set_id if count == 1 else None)


def _enqueue(project_id: str, set_id: str | None, *, delay: timedelta = timedelta(0)) -> None:
    unique = f"change_sets.follow:{set_id or project_id}"
    jobs.enqueue("change_sets.follow", delay=delay, unique=unique, project_id=project_id, change_set_id=set_id)
