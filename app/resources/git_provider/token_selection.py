"""Selection of the credential that acts on a project (contract 4.13). It is selected with the first call, in any thread.

The own credential of the caller is used if it can write to the repository. Otherwise the connection of the project is
used: the installation of the app, limited to this repository, or the credential of the member who connected it.
"""

import hashlib
import math
import threading
import time
from collections import OrderedDict
from dataclasses import dataclass

import sqlalchemy as sa

from app.drivers.errors import ReconnectRequired, UpstreamThrottled
from app.drivers.git.accounts import InstallationToken
from app.drivers.git.port import RepoRef, RepositoryUnavailable
from app.drivers.git.rest.tokens import seconds_since
from app.models.git_credential import CredentialStatus, GitCredential
from app.models.organization import Membership
from app.models.project import ConnectionStatus, Project
from app.resources.git_provider.connection_recovery import MANAGERS, RecoveryAttempts
from app.resources.git_provider.connection_recovery import attempts as process_attempts
from app.resources.git_provider.token_refresh import CredentialMarked, TokenRefresher

WRITABLE_TTL_S, NOT_WRITABLE_TTL_S, MAX_ENTRIES = 120.0, 30.0, 4096
DISCONNECTED = "The connection to this repository does not work. An owner or admin must connect it again"


@dataclass(frozen=True)
class TokenRequest:
    """The repository of a project and the user who acts on it."""

    project_id: str
    provider: str
    repository: str
    repository_id: str | None
    actor_id: str | None


class OwnTokens:
    """The tokens of one user. A credential that is marked as rejected is tried again after a pause."""

    def __init__(
        self, refresher: TokenRefresher, credential_id: str, *, attempts: RecoveryAttempts = process_attempts
    ) -> None:
        self._refresher, self._credential_id, self.hosts = refresher, credential_id, refresher.hosts
        self._attempts = attempts
        self._is_recovering = False

    def __call__(self, rejected: str | None = None) -> str:
        """Return the current token of the user."""
        try:
            return self._refresher.token(self._credential_id, rejected, recovering=self._is_recovering)
        except CredentialMarked:
            if not self._attempts.begin(self._credential_id):
                raise
        except ReconnectRequired:
            self._attempts.rejected(self._credential_id)
            raise
        self._is_recovering = True
        return self._refresher.token(self._credential_id, rejected, recovering=True)

    def age_s(self, token: str) -> float:
        """Return the age of the token."""
        return self._refresher.age_s(self._credential_id, token)

    def accepted(self, token: str) -> None:
        """Reactivate the credential if it was marked as rejected."""
        if self._is_recovering:
            self._is_recovering = False
            self._attempts.succeeded(self._credential_id)
            self._refresher.report_accepted(self._credential_id, token)

    def refused(self, token: str) -> None:
        """Mark the credential as rejected."""
        self._attempts.rejected(self._credential_id)
        self._refresher.report_rejected(self._credential_id, token)


class InstallationTokens:
    """The tokens of the app for one repository of an installation."""

    def __init__(
        self,
        refresher: TokenRefresher,
        target: TokenRequest,
        installation_id: str,
        *,
        is_recovering: bool = False,
        attempts: RecoveryAttempts = process_attempts,
    ) -> None:
        self._refresher, self._target, self._installation_id = refresher, target, installation_id
        self._is_recovering, self._attempts = is_recovering, attempts
        self._current: InstallationToken | None = None

    def __call__(self, rejected: str | None = None) -> str:
        """Return a token that reaches only the repository of the project."""
        app, target = self._refresher.hosts.github[0], self._target
        try:
            self._current = app.installation_token(
                self._installation_id,
                repository=target.repository,
                repository_id=target.repository_id,
                fresh=rejected is not None,
            )
        except ReconnectRequired:
            self._mark_disconnected()
            raise
        return self._current.token

    def age_s(self, token: str) -> float:
        """Return the age of the token."""
        current = self._current
        return seconds_since(current.issued_at) if current is not None and current.token == token else math.inf

    def accepted(self, token: str) -> None:
        """Reactivate the connection if it was marked as rejected."""
        if self._is_recovering:
            self._is_recovering = False
            self._attempts.succeeded(self._target.project_id)
            self._refresher.mark_project_connected(self._target.project_id, self._installation_id)

    def refused(self, token: str) -> None:
        """Mark the connection as rejected."""
        self._mark_disconnected()

    def _mark_disconnected(self) -> None:
        self._attempts.rejected(self._target.project_id)
        self._refresher.mark_project_disconnected(self._target.project_id)


class ProjectTokens:
    """The tokens for a project. If the credential of the caller ends, the connection of the project is used."""

    def __init__(
        self,
        refresher: TokenRefresher,
        target: TokenRequest,
        can_write: "WriteAccessCache",
        *,
        attempts: RecoveryAttempts = process_attempts,
    ) -> None:
        self._refresher, self._target, self._can_write, self._attempts = refresher, target, can_write, attempts
        self._lock = threading.Lock()
        self._own: OwnTokens | None = None
        self._chosen: OwnTokens | InstallationTokens | None = None

    def __call__(self, rejected: str | None = None) -> str:
        """Return the current token."""
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
        """Return the age of the token."""
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

    def _connection_row(self) -> "sa.Row[*tuple[object, ...]] | None":
        """Return the connection, with the credential of the connecting user if that user is a member."""
        statement = (
            sa.select(
                Project.connection_status,
                Project.installation_id,
                Project.connection_account,
                Membership.role,
                GitCredential.id.label("credential_id"),
                GitCredential.status.label("credential_status"),
                GitCredential.account_login,
            )
            .outerjoin(
                Membership,
                sa.and_(
                    Membership.organization_id == Project.organization_id, Membership.user_id == Project.connected_by
                ),
            )
            .outerjoin(
                GitCredential,
                sa.and_(GitCredential.user_id == Membership.user_id, GitCredential.provider == Project.provider),
            )
            .where(
                Project.id == self._target.project_id,
                Project.provider == self._target.provider,
                Project.repository == self._target.repository,
            )
        )
        with self._refresher.side.read() as connection:
            return connection.execute(statement).one_or_none()


def _was_rejected(row: "sa.Row[*tuple[object, ...]]") -> bool:
    """Return whether the host rejected the credential of a connection that a manager still owns.

    A connection that ended for another reason, such as a member who left, is not tried again.
    """
    return (
        row.credential_status == CredentialStatus.NEEDS_RECONNECT
        and row.role in MANAGERS
        and row.account_login == row.connection_account
    )


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
        answer = self._ask(own, target)
        if answer is not None:
            self._store(key, answer)
        return bool(answer)

    def _ask(self, own: OwnTokens, target: TokenRequest) -> bool | None:
        """Ask the host. Return None if the host throttles the token."""
        git = own.hosts.provider_for(target.provider, own)
        try:
            facts = git.repository(RepoRef(target.repository, target.repository_id))
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
