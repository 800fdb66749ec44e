"""Rows of content indexes: one for each project and branch, created at the first use."""

from collections.abc import Callable

import sqlalchemy as sa
from sqlalchemy.exc import IntegrityError

from app.core.errors import NotFound
from app.core.ids import HasId
from app.database import transactions
from app.drivers.errors import DriverError
from app.drivers.git.errors import RepositoryUnavailable
from app.drivers.git.hosts import GitHosts
from app.drivers.git.port import RepoRef
from app.extensions import db
from app.models.project import Project, Provider
from app.models.project_content import ContentIndex, IndexStatus
from app.resources.project_content.index import cleanup, indexing
from app.resources.project_content.source import source_of

# Built once: the construction of a statement costs more than its execution.
_OF_BRANCH = sa.select(ContentIndex).where(
    ContentIndex.project_id == sa.bindparam("project_id"), ContentIndex.branch == sa.bindparam("branch")
)
_LOCKED = _OF_BRANCH.with_for_update().execution_options(populate_existing=True)


def find(project_id: str, branch: str, *, lock: bool = False) -> ContentIndex | None:
    """Return the index of a branch, or None. With `lock`, lock the row until the transaction ends."""
    statement = _LOCKED if lock else _OF_BRANCH
    return db.session.scalar(statement, {"project_id": project_id, "branch": branch})


def ensure(project_id: str, branch: str, *, lock: bool = False) -> ContentIndex:
    """Return the index of a branch as `find` does. Create it and enqueue its update if it does not exist.

    Safe under concurrency.
    """
    existing = find(project_id, branch, lock=lock)
    if existing is not None:
        return existing
    index = ContentIndex(project_id=project_id, branch=branch, status=IndexStatus.QUEUED)
    try:
        with db.session.begin_nested():
            db.session.add(index)
    except IntegrityError:  # another request created it, or deleted the project
        existing = find(project_id, branch, lock=lock)
        if existing is None:
            raise
        return existing
    indexing.enqueue(index, priority=10)
    return index


def is_behind(status: IndexStatus, commit_sha: str | None, head: Callable[[], str]) -> bool:
    """Return whether an index needs an update: its branch moved, disappeared or returned."""
    try:
        present = head()
    except RepositoryUnavailable:
        return status == IndexStatus.READY
    return present != commit_sha or status == IndexStatus.STALE


def delete_branch(project: Project, branch: str) -> None:
    """Delete everything indexed of one branch of a project."""
    _delete(project, ContentIndex.branch == branch)


def drop(project: Project) -> None:
    """Delete all indexes of a project."""
    _delete(project)


def _delete(project: Project, *conditions: sa.ColumnElement[bool]) -> None:
    """Delete indexes of a project and enqueue the deletion of their content."""
    deleted = sa.delete(ContentIndex).where(ContentIndex.project_id == project.id, *conditions)
    cleanup.enqueue(project.id, db.session.scalars(deleted.returning(ContentIndex.id)).all())


def ensure_index(
    project: Project, working: ContentIndex | None, ref: str | None, *, hosts: GitHosts, by: HasId
) -> ContentIndex | None:
    """Return the index of a branch. Create it at the first read of a branch that is not the working branch.

    Raises:
        NotFound: the repository has no such branch.
        RepositoryUnavailable: the repository cannot be read.
    """
    if ref is None or ref == project.branch:
        return working
    source = source_of(project, hosts, branch=ref, user=by)
    try:
        head = source.git.head(source.repo, ref)
    except RepositoryUnavailable as error:
        source.git.repository(source.repo)
        raise NotFound("There is no such branch") from error
    index = find(project.id, ref)
    if index is None or index.commit_sha != head:
        with transactions.write_transaction():
            index = ensure(project.id, ref)
            indexing.enqueue(index, priority=10)
    return index


def mark_stale_if_moved(project: Project, index: ContentIndex | None, *, hosts: GitHosts) -> ContentIndex | None:
    """Return the index. If a local branch moved after the last update, mark it as stale and enqueue an update."""
    if index is None or index.status != IndexStatus.READY or index.commit_sha is None:
        return index
    head = _local_head(project, index.branch, hosts)
    return index if head in (None, index.commit_sha) else _mark_stale(index.id, str(head))


def _local_head(project: Project, branch: str, hosts: GitHosts) -> str | None:
    """Return the head of a local branch, or None if a network call would be needed."""
    if project.provider != Provider.LOCAL or hosts.local is None:
        return None
    try:
        return hosts.local.head(RepoRef(project.repository), branch)
    except DriverError:
        return None


def _mark_stale(index_id: str, head: str) -> ContentIndex | None:
    """Mark the index as stale, unless a job updated it or the project was deleted."""
    with transactions.locked_row(ContentIndex, index_id) as index:
        if index is not None:
            _set_stale(index, head)
    return index


def _set_stale(index: ContentIndex, head: str) -> None:
    if index.status == IndexStatus.READY and index.commit_sha != head:
        index.status = IndexStatus.STALE
        indexing.enqueue(index, priority=10)
