"""Which credential acts on which repository (contract 4.13)."""

from dataclasses import dataclass, field

import sqlalchemy as sa

from app import transactions
from app.core.ids import Identified
from app.drivers.errors import NeedsReconnect
from app.drivers.git.hosts import GitHosts
from app.drivers.git.port import GitProvider, RepoRef, Repository, RepositoryUnavailable
from app.drivers.git.rest import TokenSupplier
from app.extensions import db, vault
from app.models.git_credential import GitCredential
from app.models.project import Project, Provider
from app.models.user import User
from app.resources.git_provider import local
from app.resources.git_provider.acting import OwnTokens, ProjectTokens, Target, reach
from app.resources.git_provider.keeping import Keeper

JOB_PATIENCE_S, REQUEST_PATIENCE_S = 90.0, 30.0


@dataclass(frozen=True)
class Connection:
    """Who acts on a repository that is being connected, and the login it is done with (None for `local`)."""

    git: GitProvider
    account: str | None
    hosts: GitHosts = field(repr=False)
    tokens: TokenSupplier | None = field(default=None, repr=False)
    installation_id: str | None = None

    def check(self, facts: Repository) -> None:
        """Make sure that whoever connects the repository may write to it: others will, through them.

        Raises:
            RepositoryUnavailable: they may not.
        """
        if not facts.writable:
            raise RepositoryUnavailable("Your account may read this repository but not write to it")

    def installation_of(self, facts: Repository) -> str | None:
        """The installation of our app that reaches the repository and that the caller can see, where there is one."""
        if self.tokens is None or self.installation_id is None:
            return None
        app, accounts = self.hosts.github
        owner = facts.full_name.partition("/")[0].lower()
        seen = accounts.installations(self.tokens())
        for found in sorted(seen, key=lambda each: each.account_login.lower() != owner):
            if found.account_login.lower() == owner or found.id == self.installation_id:
                try:
                    token = app.installation_token(found.id, repository=facts.full_name).token
                    if self.hosts.acting(Provider.GITHUB, token).repository(RepoRef(facts.full_name)).id == facts.id:
                        return found.id
                except (NeedsReconnect, RepositoryUnavailable):
                    continue
        return None


def keeper(hosts: GitHosts) -> Keeper:
    """What gives and renews tokens in any thread."""
    return Keeper(vault.aside, vault.ring, hosts)


def provider_for(project: Project, *, hosts: GitHosts, actor: Identified | None = None) -> GitProvider:
    """The provider that acts on a connected project: for `actor` where their credential reaches the repository.

    Whose token it is is found with the first call, which may raise NeedsReconnect: nobody's works any more.

    Raises:
        RepositoryUnavailable: the repository is no longer the organization's, or its host is not part of this
            installation.
    """
    if project.provider == Provider.LOCAL:
        local.check_reachable(project.repository, project.organization_id, connected=True)
        return hosts.acting(project.provider)
    target = Target(
        project.id, project.provider, project.repository, project.repository_id, actor.id if actor else None
    )
    _hold_no_connection()
    patience_s = REQUEST_PATIENCE_S if actor else JOB_PATIENCE_S
    return hosts.acting(project.provider, ProjectTokens(keeper(hosts), target, reach), patience_s=patience_s)


def connect(provider: Provider, repository: str, organization_id: str, *, hosts: GitHosts, actor: User) -> Connection:
    """The caller's own credential, for connecting a repository to a project of that organization.

    Raises:
        RepositoryUnavailable: the caller has no account there, or the organization cannot reach a local one.
    """
    if provider == Provider.LOCAL:
        local.check_reachable(repository, organization_id)
        return Connection(hosts.acting(provider), None, hosts)
    own = db.session.execute(
        sa.select(GitCredential.id, GitCredential.account_login, GitCredential.installation_id).where(
            GitCredential.user_id == actor.id, GitCredential.provider == provider
        )
    ).one_or_none()
    if own is None:
        raise RepositoryUnavailable("Connect an account that reaches this repository first")
    _hold_no_connection()
    tokens = OwnTokens(keeper(hosts), own.id)
    return Connection(hosts.acting(provider, tokens), own.account_login, hosts, tokens, own.installation_id)


def _hold_no_connection() -> None:
    """The network is asked next: whoever only reads gives the database connection back until it is needed again."""
    if transactions.is_reading():
        transactions.rest()
