"""Which credential acts on which repository (contract 4.13), and what a user has connected."""

from collections.abc import Sequence
from dataclasses import dataclass

import sqlalchemy as sa

from app.drivers.git.hosts import GitHosts
from app.drivers.git.port import GitProvider
from app.extensions import db
from app.models.git_credential import GitCredential
from app.models.project import Project, Provider
from app.models.user import User
from app.resources.git_provider import local


@dataclass(frozen=True)
class Connection:
    """Who acts on a repository that is being connected, and the login it is done with (None for `local`)."""

    git: GitProvider
    account: str | None


def provider_for(project: Project, *, hosts: GitHosts, actor: User | None = None) -> GitProvider:  # noqa: ARG001
    """The provider that acts on a connected project: for `actor` where their credential reaches the repository.

    Raises:
        RepositoryUnavailable: the repository is no longer the organization's, or nobody's credential reaches it.
        NeedsReconnect: the project's credential no longer works.
    """
    if project.provider == Provider.LOCAL:
        local.check_reachable(project.repository, project.organization_id, connected=True)
    return hosts.acting(project.provider)


def connect(provider: Provider, repository: str, organization_id: str, *, hosts: GitHosts, actor: User) -> Connection:  # noqa: ARG001
    """The caller's own credential, for connecting a repository to a project of that organization.

    Raises:
        RepositoryUnavailable: the caller or the organization cannot reach it.
    """
    if provider == Provider.LOCAL:
        local.check_reachable(repository, organization_id)
    return Connection(hosts.acting(provider), None)


def credentials_of(user: User) -> Sequence[GitCredential]:
    """What the user has connected, oldest first."""
    return db.session.scalars(
        sa.select(GitCredential).where(GitCredential.user_id == user.id).order_by(GitCredential.id)
    ).all()
