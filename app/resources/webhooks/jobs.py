"""The poll beside the webhooks: notifications get lost, so remote branches are looked at now and then anyway."""

from datetime import timedelta

import sqlalchemy as sa
import structlog

from app import transactions
from app.core.errors import AppError
from app.core.jobs import job
from app.drivers.errors import DriverError
from app.drivers.git.hosts import GitHosts
from app.extensions import db
from app.models.base import moment
from app.models.organization import Status
from app.models.project import ConnectionStatus, Project, Provider
from app.models.project_content import ContentIndex
from app.resources.project_content import indexes, indexing
from app.resources.project_content.source import source_of

log = structlog.get_logger(__name__)

EVERY, REST = timedelta(minutes=1), timedelta(minutes=10)
AT_ONCE = 50


@job("webhooks.follow_remote", every=EVERY, retries=0, uses=("git",))
def follow_remote(*, git: GitHosts) -> None:
    """Look at the heads of the remote working branches that have waited longest, and index those that moved."""
    transactions.start_reading()
    due = _due()
    with transactions.writing():
        db.session.execute(
            sa.update(ContentIndex).where(ContentIndex.id.in_(due)).values(looked_at=moment()),
            execution_options={"synchronize_session": False},
        )
    for index_id in due:
        if _is_behind(index_id, git):
            with transactions.writing():
                index = db.session.get(ContentIndex, index_id)
                if index is not None:
                    indexing.ask(index)


def _due() -> list[str]:
    looked = ContentIndex.looked_at
    found = db.session.scalars(
        sa.select(ContentIndex.id)
        .join(Project, sa.and_(Project.id == ContentIndex.project_id, Project.branch == ContentIndex.branch))
        .where(
            Project.provider != Provider.LOCAL,
            Project.status == Status.ACTIVE,
            Project.connection_status == ConnectionStatus.ACTIVE,
            Project.repository != "",
            sa.or_(looked.is_(None), looked < moment() - REST),
        )
        .order_by(sa.nulls_first(looked), ContentIndex.id)
        .limit(AT_ONCE)
    )
    return list(found)


def _is_behind(index_id: str, git: GitHosts) -> bool:
    row = db.session.execute(
        sa.select(ContentIndex.status, ContentIndex.commit_sha, Project)
        .join(Project, Project.id == ContentIndex.project_id)
        .where(ContentIndex.id == index_id)
    ).one_or_none()
    if row is None:
        return False
    try:
        source = source_of(row.Project, git)
        transactions.rest()
        return indexes.is_behind(row.status, row.commit_sha, lambda: source.git.head(source.repo, source.branch))
    except (DriverError, AppError) as error:
        log.info("content.head_unreadable", index_id=index_id, error=type(error).__name__)
        return False
