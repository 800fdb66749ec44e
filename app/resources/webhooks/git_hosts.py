"""What Git hosts tell of pushes, and what follows: the branches' indexes are looked at again.

A look reads the branch's present head, so notifications may come doubled, late and in any order.
"""

from dataclasses import dataclass

import sqlalchemy as sa

from app.core.upserts import insert_unless_there
from app.extensions import db
from app.models.base import moment
from app.models.git_credential import CredentialStatus, GitCredential, GitDelivery
from app.models.organization import Status
from app.models.project import ConnectionStatus, Project, Provider
from app.models.project_content import ContentIndex
from app.resources.project_content import indexing


@dataclass(frozen=True)
class Pushed:
    """A branch of a repository that has changed."""

    repository_id: str
    repository: str
    branch: str


@dataclass(frozen=True)
class Uninstalled:
    """An installation of our app that is no more."""

    installation_id: str


@dataclass(frozen=True)
class Notification:
    """One delivery of a host; `told` is None where it is of no concern."""

    provider: Provider
    delivery: str
    told: Pushed | Uninstalled | None


def take_in(notification: Notification) -> None:
    """Let a notification have its effect, once."""
    if notification.told is None or not _is_new(notification):
        return
    if isinstance(notification.told, Pushed):
        _look_again(notification.provider, notification.told)
    else:
        _lose(notification.told.installation_id)


def _is_new(notification: Notification) -> bool:
    values = {"provider": notification.provider, "delivery": notification.delivery, "received_at": moment()}
    statement = insert_unless_there(
        db.engine.dialect.name, GitDelivery, values, unique=("provider", "delivery")
    ).returning(GitDelivery.delivery)
    return db.session.scalar(statement) is not None


def _look_again(provider: Provider, pushed: Pushed) -> None:
    """Ask for a look at every index of that branch, of every project on that repository."""
    named = sa.func.lower(Project.repository) == pushed.repository.lower()
    found = db.session.scalars(
        sa.select(ContentIndex)
        .join(Project, Project.id == ContentIndex.project_id)
        .where(
            Project.provider == provider,
            Project.status == Status.ACTIVE,
            ContentIndex.branch == pushed.branch,
            sa.or_(Project.repository_id == pushed.repository_id, sa.and_(Project.repository_id.is_(None), named)),
        )
    ).all()
    for index in found:
        indexing.ask(index)


def _lose(installation_id: str) -> None:
    """Whatever acted through that installation has to be connected anew."""
    for table, column, lost in (
        (Project, Project.connection_status, ConnectionStatus.NEEDS_RECONNECT),
        (GitCredential, GitCredential.status, CredentialStatus.NEEDS_RECONNECT),
    ):
        db.session.execute(
            sa.update(table)
            .where(table.installation_id == installation_id, table.provider == Provider.GITHUB)
            .values({column: lost}),
            execution_options={"synchronize_session": False},
        )
