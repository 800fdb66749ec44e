"""Periodic check of remote branches, because notifications of Git hosts can be lost."""

from datetime import timedelta

import sqlalchemy as sa
import structlog

from app.core.errors import AppError
from app.core.jobs import job
from app.database import transactions
from app.drivers.errors import DriverError
from app.drivers.git.hosts import GitHosts
from app.extensions import db
from app.models.base import utcnow_ms
from app.models.organization import ArchiveStatus
from app.models.project import ConnectionStatus, Project
from app.models.project_content import ContentIndex
from app.resources.project_content.index import indexes, indexing
from app.resources.project_content.source import source_of

log = structlog.get_logger(__name__)

INTERVAL, POLL_INTERVAL = timedelta(minutes=1), timedelta(minutes=10)
MAX_BRANCHES = 50


@job("webhooks.follow_remote", every=INTERVAL, retries=0, uses=("git",))
def follow_remote(*, git: GitHosts, max_branches: int = MAX_BRANCHES) -> None:
    """Check the heads of the working branches whose last check is oldest. Enqueue an index run for each that moved."""
    due = _due(max_branches)
    with transactions.write_transaction():
        db.session.execute(
            sa.update(ContentIndex).where(ContentIndex.id.in_(due)).values(looked_at=utcnow_ms()),
            execution_options={"synchronize_session": False},
        )
    for index_id in due:
        if _is_behind(index_id, git):
            indexing.enqueue_existing(index_id)


def _due(max_branches: int) -> list[str]:
    checked_at = ContentIndex.looked_at
    rows = db.session.scalars(
        sa.select(ContentIndex.id)
        .join(Project, sa.and_(Project.id == ContentIndex.project_id, Project.branch == ContentIndex.branch))
        .where(
            sa.not_(Project.is_local),
            Project.status == ArchiveStatus.ACTIVE,
            Project.connection_status == ConnectionStatus.ACTIVE,
            Project.repository != "",
            sa.or_(checked_at.is_(None), checked_at < utcnow_ms() - POLL_INTERVAL),
        )
        .order_by(sa.nulls_first(checked_at), ContentIndex.id)
        .limit(max_branches)
    )
    return list(rows)


def _is_behind(index_id: str, git: GitHosts) -> bool:
    row = db.session.execute(
        sa.select(ContentIndex, Project)
        .join(Project, Project.id == ContentIndex.project_id)
        .where(ContentIndex.id == index_id)
    ).one_or_none()
    if row is None:
        return False
    try:
        source = source_of(row.Project, git)
        return indexes.is_behind(row.ContentIndex, lambda: source.repository.head(source.branch))
    except (DriverError, AppError) as error:
        log.info("content.head_unreadable", index_id=index_id, error=type(error).__name__)
        return False
