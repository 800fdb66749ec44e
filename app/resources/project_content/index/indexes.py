"""Rows of content indexes: one for each project and branch, created at the first use."""

from collections.abc import Callable

import sqlalchemy as sa
from sqlalchemy.exc import IntegrityError

from app.drivers.git.errors import RepositoryUnavailable
from app.extensions import db
from app.models.project import Project
from app.models.project_content import ContentIndex, IndexStatus
from app.resources.project_content.index import cleanup, indexing

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
