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
from app.extensions import db
from app.models.project import Project
from app.models.project_content import ContentIndex, IndexStatus
from app.resources.project_content.index import cleanup, indexing
from app.resources.project_content.source import source_of

# Built once: the construction of a statement costs more than its execution.
_OF_BRANCH = sa.select(ContentIndex).where(
    ContentIndex.project_id == sa.bindparam("project_id"), ContentIndex.branch == sa.bindparam("branch")
)
_FREE = _OF_BRANCH.with_for_update(skip_locked=True).execution_options(populate_existing=True)


def find(project_id: str, branch: str) -> ContentIndex | None:
    """Return the index of a branch, or None."""
    return db.session.scalar(_OF_BRANCH, {"project_id": project_id, "branch": branch})


def find_free(project_id: str, branch: str) -> ContentIndex | None:
    """Lock and return the index of a branch, or return None if another transaction holds it.

    A run can hold it for seconds. No request waits for it.
    """
    return db.session.scalar(_FREE, {"project_id": project_id, "branch": branch})


def is_first_reading(index: ContentIndex | None) -> bool:
    """Return whether the content of a branch is read for the first time."""
    running = (IndexStatus.QUEUED, IndexStatus.INDEXING)
    return index is not None and index.commit_sha is None and index.status in running


def ensure(project_id: str, branch: str) -> ContentIndex:
    """Return the index of a branch as `find` does. Create it and enqueue its update if it does not exist.

    Safe under concurrency.
    """
    existing = find(project_id, branch)
    if existing is not None:
        return existing
    index = ContentIndex(project_id=project_id, branch=branch, status=IndexStatus.QUEUED)
    try:
        with db.session.begin_nested():
            db.session.add(index)
    except IntegrityError:  # another request created it, or deleted the project
        existing = find(project_id, branch)
        if existing is None:
            raise
        return existing
    indexing.enqueue(index, priority=10)
    return index


def is_behind(index: ContentIndex, head: Callable[[], str]) -> bool:
    """Return whether an index needs an update: its branch moved, disappeared or returned.

    A branch with too many files is read again after a push and on request only, because this takes seconds.
    """
    if index.problem == indexing.TOO_MANY_FILES:
        return False
    try:
        present = head()
    except RepositoryUnavailable:
        return index.status == IndexStatus.READY
    return present != index.commit_sha or index.status == IndexStatus.STALE


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
        head = source.repository.head(ref)
    except RepositoryUnavailable as error:
        source.repository.facts()
        raise NotFound("There is no such branch") from error
    index = find(project.id, ref)
    if index is None or (index.commit_sha != head and index.problem != indexing.TOO_MANY_FILES):
        with transactions.write_transaction():
            index = ensure(project.id, ref)
            indexing.enqueue(index, priority=10)
    return index


def mark_stale_if_moved(project: Project, index: ContentIndex | None, *, hosts: GitHosts) -> ContentIndex | None:
    """Return the index. If a local branch moved after the last update, mark it as stale and enqueue an update."""
    if index is None or index.status != IndexStatus.READY or index.commit_sha is None:
        return index
    head = _local_head(project, index.branch, hosts)
    return index if head in (None, index.commit_sha) else _mark_stale(index, str(head))


def _local_head(project: Project, branch: str, hosts: GitHosts) -> str | None:
    """Return the head of a local branch, or None if a network call would be needed."""
    if not project.is_local or hosts.local is None:
        return None
    try:
        return hosts.local.open(project.repository).head(branch)
    except DriverError:
        return None


def _mark_stale(index: ContentIndex, head: str) -> ContentIndex | None:
    """Mark the index as stale, unless a job updates it or the project was deleted."""
    index_id, project_id, branch = index.id, index.project_id, index.branch
    with transactions.write_transaction():
        free = find_free(project_id, branch)
        if free is not None and free.status == IndexStatus.READY and free.commit_sha != head:
            free.status = IndexStatus.STALE
            indexing.enqueue(free, priority=10)
    return free or db.session.get(ContentIndex, index_id)
