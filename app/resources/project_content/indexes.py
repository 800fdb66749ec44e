"""The index rows themselves: one a project and branch, made when first asked for."""

from collections.abc import Callable

import sqlalchemy as sa
from sqlalchemy.exc import IntegrityError

from app.drivers.git.port import RepositoryUnavailable
from app.extensions import db
from app.models.project import Project
from app.models.project_content import ContentIndex, IndexStatus
from app.resources.project_content import indexing, sweeping


def find(project: Project, branch: str) -> ContentIndex | None:
    """The index of a branch, if there is one."""
    return db.session.scalar(
        sa.select(ContentIndex).where(ContentIndex.project_id == project.id, ContentIndex.branch == branch)
    )


def ensure(project: Project, branch: str) -> ContentIndex:
    """The index of a branch, made and queued where there is none yet; one whatever races."""
    found = find(project, branch)
    if found is not None:
        return found
    made = ContentIndex(project_id=project.id, branch=branch, status=IndexStatus.QUEUED)
    try:
        with db.session.begin_nested():
            db.session.add(made)
    except IntegrityError:
        return find(project, branch) or made
    indexing.ask(made, priority=10)
    return made


def is_behind(status: IndexStatus, commit_sha: str | None, head: Callable[[], str]) -> bool:
    """Whether an index wants another look: its branch has moved, has gone while it says it is ready, or is back."""
    try:
        now = head()
    except RepositoryUnavailable:
        return status == IndexStatus.READY
    return now != commit_sha or status == IndexStatus.STALE


def lock(index: ContentIndex) -> ContentIndex:
    """The row as it is now, kept from other writers until the transaction ends."""
    db.session.refresh(index, with_for_update=True)
    return index


def drop(project: Project) -> None:
    """Forget everything indexed of a project (its repository changed)."""
    db.session.execute(sa.delete(ContentIndex).where(ContentIndex.project_id == project.id))
    sweeping.ask()
    db.session.expire_all()
