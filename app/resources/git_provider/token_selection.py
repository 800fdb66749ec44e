"""Selection of the credential that acts on a project (contract 4.13). It is selected with the first call, in any thread.

The own credential of the caller is used if it can write to the repository. Otherwise the connection of the project is
used: the installation of the app, limited to this repository, or the credential of the member who connected it.
"""

import math
import threading

import sqlalchemy as sa

from app.drivers.errors import ReconnectRequired
from app.models.git_credential import CredentialStatus, GitCredential
from app.models.organization import Membership
from app.models.project import ConnectionStatus, Project
from app.resources.git_provider.connection_recovery import MANAGERS, RecoveryAttempts
from app.resources.git_provider.connection_recovery import attempts as process_attempts
from app.resources.git_provider.token_refresh import TokenRefresher
from app.resources.git_provider.token_sources import InstallationTokens, OwnTokens, TokenRequest
from app.resources.git_provider.write_access import WriteAccessCache

DISCONNECTED = "The connection to this repository does not work. An owner or admin must connect it again"


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
