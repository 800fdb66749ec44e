"""Effects of notifications of Git hosts: new index runs, checks of change sets, and lost installations.

An index run reads the current head of the branch, so notifications may arrive twice, late and in any order.
"""

from dataclasses import dataclass

import sqlalchemy as sa

from app.database.inserts import insert_or_ignore
from app.extensions import db
from app.models.base import utcnow_ms
from app.models.change_set import ChangeSet
from app.models.git_credential import CredentialStatus, GitCredential, GitDelivery
from app.models.organization import ArchiveStatus
from app.models.project import ConnectionStatus, Project, Provider
from app.models.project_content import ContentIndex
from app.resources.change_set.host_changes import enqueue_follow
from app.resources.project_content.index import indexing


@dataclass(frozen=True)
class BranchPushed:
    """A branch of a repository that was pushed to."""

    repository_id: str
    repository: str
    branch: str


@dataclass(frozen=True)
class AppUninstalled:
    """An installation of the app that was removed or suspended."""

    installation_id: str


@dataclass(frozen=True)
class Notification:
    """One delivery of a host. `event` is None if the service ignores it."""

    provider: Provider
    delivery: str
    event: BranchPushed | AppUninstalled | None


def process_notification(notification: Notification) -> None:
    """Apply the effect of a notification once."""
    if notification.event is None or not _is_new(notification):
        return
    if isinstance(notification.event, BranchPushed):
        _follow_push(notification.provider, notification.event)
    else:
        _mark_disconnected(notification.provider, notification.event.installation_id)


def _is_new(notification: Notification) -> bool:
    values = {"provider": notification.provider, "delivery": notification.delivery, "received_at": utcnow_ms()}
    statement = insert_or_ignore(
        db.engine.dialect.name, GitDelivery, values, unique=("provider", "delivery")
    ).returning(GitDelivery.delivery)
    return db.session.scalar(statement) is not None


def _follow_push(provider: Provider, pushed: BranchPushed) -> None:
    """Enqueue an index run for every index of the branch, and a check of its change sets.

    All projects on the repository are followed. A moved working branch can contain any of their change sets.
    """
    named = sa.func.lower(Project.repository) == pushed.repository.lower()
    followed = sa.and_(
        Project.provider == provider,
        Project.status == ArchiveStatus.ACTIVE,
        sa.or_(Project.repository_id == pushed.repository_id, sa.and_(Project.repository_id.is_(None), named)),
    )
    indexes = sa.select(ContentIndex).join(Project, Project.id == ContentIndex.project_id)
    for index in db.session.scalars(indexes.where(followed, ContentIndex.branch == pushed.branch)).all():
        indexing.enqueue(index)
    enqueue_follow(followed, sa.or_(ChangeSet.branch == pushed.branch, Project.branch == pushed.branch))


def _mark_disconnected(provider: Provider, installation_id: str) -> None:
    """Mark everything that uses the installation."""
    for table, column, status in (
        (Project, Project.connection_status, ConnectionStatus.NEEDS_RECONNECT),
        (GitCredential, GitCredential.status, CredentialStatus.NEEDS_RECONNECT),
    ):
        db.session.execute(
            sa.update(table)
            .where(table.installation_id == installation_id, table.provider == provider)
            .values({column: status}),
            execution_options={"synchronize_session": False},
        )
