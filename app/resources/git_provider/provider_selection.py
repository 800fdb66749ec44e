"""Selection of the Git provider and credential for a repository (contract 4.13).

The own credential of the caller is used if it can write to the repository. Otherwise the connection of the project is
used: the installation of the app, limited to this repository, or the credential of the member who connected it. It is
selected with the first call, in any thread.
"""

import hashlib
import math
import threading
import time
from collections import OrderedDict
from dataclasses import dataclass, field

import sqlalchemy as sa

from app.core.ids import HasId
from app.database import transactions
from app.drivers.errors import ReconnectRequired, UpstreamThrottled
from app.drivers.git.errors import RepositoryUnavailable
from app.drivers.git.hosts import GitHosts
from app.drivers.git.port import Repository, RepositoryFacts
from app.drivers.git.rest.tokens import FixedToken, TokenSupplier
from app.extensions import current_keyring, current_side, db
from app.models.base import Row
from app.models.git_credential import CredentialStatus, GitCredential
from app.models.project import ConnectionStatus, Project, Provider, role_in_project
from app.models.user import User
from app.resources.git_provider import local_repositories
from app.resources.git_provider.connection_recovery import MANAGERS, RecoveryAttempts
from app.resources.git_provider.connection_recovery import attempts as process_attempts
from app.resources.git_provider.token_refresh import TokenRefresher
from app.resources.git_provider.token_sources import InstallationTokens, OwnTokens, TokenRequest

WRITABLE_TTL_S, NOT_WRITABLE_TTL_S, MAX_ENTRIES = 120.0, 30.0, 4096
JOB_DEADLINE_S, REQUEST_DEADLINE_S = 90.0, 30.0
DISCONNECTED = "The connection to this repository does not work. An owner or admin must connect it again"


class WriteAccessCache:
    """Cache of the repositories that a token can write to."""

    def __init__(self) -> None:
        self._entries: OrderedDict[str, tuple[bool, float]] = OrderedDict()
        self._lock = threading.Lock()

    def __call__(self, own: OwnTokens, target: TokenRequest) -> bool:
        """Return whether these tokens can write to the repository of the target."""
        try:
            token = own()
        except ReconnectRequired:
            return False
        key = hashlib.sha256(f"{token} {target.repository_id} {target.repository}".encode()).hexdigest()
        with self._lock:
            can_write, until = self._entries.get(key, (False, 0.0))
        if time.monotonic() < until:
            return can_write
        answer = self._has_write_access(own, target)
        if answer is not None:
            self._store(key, answer)
        return bool(answer)

    def _has_write_access(self, own: OwnTokens, target: TokenRequest) -> bool | None:
        """Read the repository from the host. Return None if the host throttles the token."""
        repository = own.hosts.open(target.provider, target.repository, target.repository_id, token=own)
        try:
            facts = repository.facts()
        except (RepositoryUnavailable, ReconnectRequired):
            return False
        except UpstreamThrottled:
            return None
        return facts.writable and target.repository_id in (None, facts.id)

    def _store(self, key: str, answer: bool) -> None:
        with self._lock:
            self._entries[key] = answer, time.monotonic() + (WRITABLE_TTL_S if answer else NOT_WRITABLE_TTL_S)
            while len(self._entries) > MAX_ENTRIES:
                self._entries.popitem(last=False)


write_access = WriteAccessCache()
"""Write access that this process has checked."""


@dataclass(frozen=True)
class Connection:
    """A repository that is being connected, with an account that reaches it. The account of `local` is None."""

    provider: Provider
    repository: Repository
    account: str | None
    hosts: GitHosts = field(repr=False)
    tokens: TokenSupplier | None = field(default=None, repr=False)
    installation_id: str | None = None

    def open(self, name: str, repository_id: str) -> Repository:
        """Return the repository by the name and id that the host reports."""
        return self.hosts.open(self.provider, name, repository_id, token=self.tokens)

    def check(self, facts: RepositoryFacts) -> None:
        """Check that the account can write to the repository, because other members will write through it.

        Raises:
            RepositoryUnavailable: the account can only read.
        """
        if not facts.writable:
            raise RepositoryUnavailable("Your account can read this repository but cannot write to it")

    def installation_of(self, facts: RepositoryFacts) -> str | None:
        """Return the installation that reaches the repository and that the caller sees, or None."""
        if self.tokens is None or self.installation_id is None:
            return None
        app, accounts = self.hosts.installations(self.provider)
        owner = facts.full_name.partition("/")[0].lower()
        visible = accounts.installations(self.tokens())
        for installation in sorted(visible, key=lambda item: item.account_login.lower() != owner):
            if installation.account_login.lower() == owner or installation.id == self.installation_id:
                try:
                    issued = app.installation_token(installation.id, repository=facts.full_name)
                    token = FixedToken(issued.token, issued.issued_at)
                    if self.hosts.open(self.provider, facts.full_name, token=token).facts().id == facts.id:
                        return installation.id
                except (ReconnectRequired, RepositoryUnavailable):
                    continue
        return None


def token_refresher(hosts: GitHosts) -> TokenRefresher:
    """Build the refresher of tokens. It works in any thread."""
    return TokenRefresher(current_side(), current_keyring(), hosts)


def open_repository(project: Project, *, hosts: GitHosts, user: HasId | None = None) -> Repository:
    """Return the repository of a connected project. The credential of `user` is used if it reaches the repository.

    The credential is selected with the first call, which raises ReconnectRequired if none works.

    Raises:
        RepositoryUnavailable: the repository is no longer the organization's, or its host is not part of this
            installation.
    """
    if project.is_local:
        local_repositories.check_reachable(project.repository, project.organization_id, connected=True)
        _release_connection()
        return hosts.open(project.provider, project.repository)
    target = TokenRequest(
        project.id, project.provider, project.repository, project.repository_id, user.id if user else None
    )
    _release_connection()
    deadline_s = REQUEST_DEADLINE_S if user else JOB_DEADLINE_S
    tokens = ProjectTokens(token_refresher(hosts), target, write_access)
    return hosts.open(target.provider, target.repository, target.repository_id, token=tokens, deadline_s=deadline_s)


def connect(
    provider: Provider, name: str, repository_id: str | None, organization_id: str, *, hosts: GitHosts, user: User
) -> Connection:
    """Return the connection of the caller for a repository of a project of the organization.

    Raises:
        RepositoryUnavailable: the caller has no account there, or the organization cannot reach a local one.
    """
    if provider.is_local:
        local_repositories.check_reachable(name, organization_id)
        _release_connection()
        return Connection(provider, hosts.open(provider, name), None, hosts)
    own = db.session.execute(
        sa.select(GitCredential.id, GitCredential.account_login, GitCredential.installation_id).where(
            GitCredential.user_id == user.id, GitCredential.provider == provider
        )
    ).one_or_none()
    if own is None:
        raise RepositoryUnavailable("Connect an account that can access this repository first")
    _release_connection()
    tokens = OwnTokens(token_refresher(hosts), own.id)
    repository = hosts.open(provider, name, repository_id, token=tokens)
    return Connection(provider, repository, own.account_login, hosts, tokens, own.installation_id)


def _release_connection() -> None:
    """Return the connection of a session that reads: the next step is a call to the Git host."""
    if transactions.is_reading():
        transactions.release_connection()


class ProjectTokens:
    """The tokens for a project. If the credential of the caller ends, the connection of the project is used."""

    def __init__(
        self,
        refresher: TokenRefresher,
        target: TokenRequest,
        can_write: WriteAccessCache,
        *,
        attempts: RecoveryAttempts = process_attempts,
    ) -> None:
        self._refresher, self._target, self._can_write, self._attempts = refresher, target, can_write, attempts
        self._lock = threading.Lock()
        self._own: OwnTokens | None = None
        self._chosen: OwnTokens | InstallationTokens | None = None

    def __call__(self, rejected: str | None = None) -> str:
        with self._lock:
            if self._chosen is None:
                self._own = self._own_tokens()
                self._chosen = self._own or self._connection()
            try:
                return self._chosen(rejected)
            except ReconnectRequired:
                if self._chosen is not self._own:
                    raise
            self._chosen = self._connection()
            return self._chosen()

    def age_s(self, token: str) -> float:
        return math.inf if self._chosen is None else self._chosen.age_s(token)

    def accepted(self, token: str) -> None:
        """Report the accepted token to its source."""
        if self._chosen is not None:
            self._chosen.accepted(token)

    def refused(self, token: str) -> None:
        """Report the refused token to its source."""
        if self._chosen is not None:
            self._chosen.refused(token)

    def _own_tokens(self) -> OwnTokens | None:
        if self._target.actor_id is None:
            return None
        statement = sa.select(GitCredential.id).where(
            GitCredential.user_id == self._target.actor_id, GitCredential.provider == self._target.provider
        )
        with self._refresher.side.read() as connection:
            credential_id = connection.scalar(statement)
        if credential_id is None:
            return None
        own = OwnTokens(self._refresher, credential_id, attempts=self._attempts)
        return own if self._can_write(own, self._target) else None

    def _connection(self) -> OwnTokens | InstallationTokens:
        row = self._connection_row()
        if row is None:
            raise ReconnectRequired(DISCONNECTED)
        is_active = row.connection_status == ConnectionStatus.ACTIVE
        if row.installation_id is not None and (is_active or self._attempts.begin(self._target.project_id)):
            return InstallationTokens(
                self._refresher,
                self._target,
                row.installation_id,
                is_recovering=not is_active,
                attempts=self._attempts,
            )
        if row.installation_id is None and (is_active or _was_rejected(row)) and row.credential_id is not None:
            return OwnTokens(self._refresher, row.credential_id, attempts=self._attempts)
        if is_active:
            self._refresher.mark_project_disconnected(self._target.project_id)
        raise ReconnectRequired(DISCONNECTED)

    def _connection_row(self) -> Row | None:
        """Return the connection, with the credential of the connecting user if that user has a role in the project."""
        role = role_in_project(Project.connected_by)
        statement = (
            sa.select(
                Project.connection_status,
                Project.installation_id,
                Project.connection_account,
                role.label("role"),
                GitCredential.id.label("credential_id"),
                GitCredential.status.label("credential_status"),
                GitCredential.account_login,
            )
            .outerjoin(
                GitCredential,
                sa.and_(
                    role.is_not(None),
                    GitCredential.user_id == Project.connected_by,
                    GitCredential.provider == Project.provider,
                ),
            )
            .where(
                Project.id == self._target.project_id,
                Project.provider == self._target.provider,
                Project.repository == self._target.repository,
            )
        )
        with self._refresher.side.read() as connection:
            return connection.execute(statement).one_or_none()


def _was_rejected(row: Row) -> bool:
    """Return whether the host rejected the credential of a connection that a manager still owns.

    A connection that ended for another reason, such as a member who left, is not tried again.
    """
    return (
        row.credential_status == CredentialStatus.NEEDS_RECONNECT
        and row.role in MANAGERS
        and row.account_login == row.connection_account
    )
