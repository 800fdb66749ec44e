"""Selection of the Git provider and credential for a repository (contract 4.13)."""

from dataclasses import dataclass, field

import sqlalchemy as sa

from app.core.ids import HasId
from app.database import session
from app.drivers.errors import ReconnectRequired
from app.drivers.git.errors import RepositoryUnavailable
from app.drivers.git.hosts import GitHosts
from app.drivers.git.port import GitProvider, RepoRef, Repository
from app.drivers.git.rest.tokens import FixedToken, TokenSupplier
from app.extensions import current_keyring, current_side, db
from app.models.git_credential import GitCredential
from app.models.project import Project, Provider
from app.models.user import User
from app.resources.git_provider import local_repositories
from app.resources.git_provider.token_refresh import TokenRefresher
from app.resources.git_provider.token_selection import ProjectTokens
from app.resources.git_provider.token_sources import OwnTokens, TokenRequest
from app.resources.git_provider.write_access import write_access

JOB_DEADLINE_S, REQUEST_DEADLINE_S = 90.0, 30.0


@dataclass(frozen=True)
class Connection:
    """The provider and account for a repository that is being connected. The account of `local` is None."""

    git: GitProvider
    account: str | None
    hosts: GitHosts = field(repr=False)
    tokens: TokenSupplier | None = field(default=None, repr=False)
    installation_id: str | None = None

    def check(self, facts: Repository) -> None:
        """Check that the account can write to the repository, because other members will write through it.

        Raises:
            RepositoryUnavailable: the account can only read.
        """
        if not facts.writable:
            raise RepositoryUnavailable("Your account can read this repository but cannot write to it")

    def installation_of(self, facts: Repository) -> str | None:
        """Return the installation that reaches the repository and that the caller sees, or None."""
        if self.tokens is None or self.installation_id is None:
            return None
        app, accounts = self.hosts.github
        owner = facts.full_name.partition("/")[0].lower()
        visible = accounts.installations(self.tokens())
        for installation in sorted(visible, key=lambda each: each.account_login.lower() != owner):
            if installation.account_login.lower() == owner or installation.id == self.installation_id:
                try:
                    issued = app.installation_token(installation.id, repository=facts.full_name)
                    token = FixedToken(issued.token, issued.issued_at)
                    if (
                        self.hosts.provider_for(Provider.GITHUB, token).repository(RepoRef(facts.full_name)).id
                        == facts.id
                    ):
                        return installation.id
                except (ReconnectRequired, RepositoryUnavailable):
                    continue
        return None


def token_refresher(hosts: GitHosts) -> TokenRefresher:
    """Build the refresher of tokens. It works in any thread."""
    return TokenRefresher(current_side(), current_keyring(), hosts)


def provider_for(project: Project, *, hosts: GitHosts, actor: HasId | None = None) -> GitProvider:
    """Return the provider for a connected project. The credential of `actor` is used if it reaches the repository.

    The credential is selected with the first call, which raises ReconnectRequired if none works.

    Raises:
        RepositoryUnavailable: the repository is no longer the organization's, or its host is not part of this
            installation.
    """
    if project.provider == Provider.LOCAL:
        local_repositories.check_reachable(project.repository, project.organization_id, connected=True)
        _release_connection()
        return hosts.provider_for(project.provider)
    target = TokenRequest(
        project.id, project.provider, project.repository, project.repository_id, actor.id if actor else None
    )
    _release_connection()
    deadline_s = REQUEST_DEADLINE_S if actor else JOB_DEADLINE_S
    return hosts.provider_for(
        project.provider, ProjectTokens(token_refresher(hosts), target, write_access), deadline_s=deadline_s
    )


def connect(provider: Provider, repository: str, organization_id: str, *, hosts: GitHosts, actor: User) -> Connection:
    """Return the connection of the caller for a repository of a project of the organization.

    Raises:
        RepositoryUnavailable: the caller has no account there, or the organization cannot reach a local one.
    """
    if provider == Provider.LOCAL:
        local_repositories.check_reachable(repository, organization_id)
        _release_connection()
        return Connection(hosts.provider_for(provider), None, hosts)
    own = db.session.execute(
        sa.select(GitCredential.id, GitCredential.account_login, GitCredential.installation_id).where(
            GitCredential.user_id == actor.id, GitCredential.provider == provider
        )
    ).one_or_none()
    if own is None:
        raise RepositoryUnavailable("Connect an account that can access this repository first")
    _release_connection()
    tokens = OwnTokens(token_refresher(hosts), own.id)
    return Connection(hosts.provider_for(provider, tokens), own.account_login, hosts, tokens, own.installation_id)


def _release_connection() -> None:
    """Return the connection of a session that reads: the next step is a call to the Git host."""
    if session.is_reading():
        session.release_connection()
