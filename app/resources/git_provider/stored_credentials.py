"""Stored credentials and the state of the connections that use them. Thread-safe."""

from dataclasses import dataclass

import sqlalchemy as sa
import structlog

from app.core.errors import ErrorMessage
from app.database.engines import SideConnections
from app.drivers.errors import ReconnectRequired
from app.drivers.git.rest.tokens import REJECTED
from app.models.git_credential import CredentialStatus, GitCredential
from app.models.project import ConnectionStatus, Project
from app.resources.git_provider import connection_recovery, token_encryption
from app.security.secrets import Keyring

log = structlog.get_logger(__name__)

NOT_CONNECTED = ErrorMessage("Connect an account of this provider first")


class CredentialMarked(ReconnectRequired):
    """The credential was marked as rejected earlier. The host was not asked."""


@dataclass(frozen=True)
class StoredCredentials:
    """Reader of credentials, and writer of their state and of the state of their projects."""

    side: SideConnections
    keyring: Keyring

    def find(self, credential_id: str, *, recovering: bool = False) -> GitCredential:
        """Return the current row, detached from any session.

        Raises:
            ReconnectRequired: the credential does not exist.
            CredentialMarked: the credential is marked as rejected.
        """
        with self.side.read() as connection:
            result = connection.execute(sa.select(GitCredential.__table__).where(GitCredential.id == credential_id))
            row = result.mappings().one_or_none()
        if row is None:
            raise ReconnectRequired(NOT_CONNECTED)
        if row["status"] != CredentialStatus.ACTIVE and not recovering:
            raise CredentialMarked(REJECTED)
        return GitCredential(**row)

    def mark_needs_reconnect(self, row: GitCredential) -> None:
        """Mark a generation that the host rejects, and the projects that use it."""
        with self.side.write() as connection:
            marked = connection.execute(
                sa.update(GitCredential)
                .where(GitCredential.id == row.id, GitCredential.generation == row.generation)
                .values(status=CredentialStatus.NEEDS_RECONNECT, refreshing_until=None, updated_at=row.updated_at)
            )
            if marked.rowcount:
                connection.execute(
                    sa.update(Project)
                    .where(
                        Project.connected_by == row.user_id,
                        Project.provider == row.provider,
                        Project.installation_id.is_(None),
                    )
                    .values(connection_status=ConnectionStatus.NEEDS_RECONNECT)
                )
        log.info("git_credential.needs_reconnect", credential_id=row.id, provider=row.provider)

    def report_rejected(self, credential_id: str, token: str) -> None:
        """Mark a credential whose refreshed token was refused. Another refresh would not help."""
        row = self._current_row_with(credential_id, token)
        if row is not None:
            self.mark_needs_reconnect(row)

    def report_accepted(self, credential_id: str, token: str) -> None:
        """Reactivate a credential that was marked as rejected and whose token the host accepts."""
        row = self._current_row_with(credential_id, token)
        if row is not None:
            self.reactivate(row)

    def reactivate(self, row: GitCredential) -> None:
        """Set a generation that works, and the projects that use it, to active."""
        with self.side.write() as connection:
            connection_recovery.reactivate_credential(connection, row)
        log.info("git_credential.recovered", credential_id=row.id, provider=row.provider)

    def mark_project_disconnected(self, project_id: str) -> None:
        """Mark a project that no credential can act on."""
        with self.side.write() as connection:
            connection.execute(
                sa.update(Project)
                .where(Project.id == project_id)
                .values(connection_status=ConnectionStatus.NEEDS_RECONNECT)
            )

    def mark_project_connected(self, project_id: str, installation_id: str) -> None:
        """Reactivate a project whose installation works again."""
        with self.side.write() as connection:
            connection_recovery.reactivate_installation(connection, project_id, installation_id)
        log.info("git_connection.recovered", project_id=project_id)

    def _current_row_with(self, credential_id: str, token: str) -> GitCredential | None:
        """Return the row if its access token is `token`."""
        try:
            row = self.find(credential_id, recovering=True)
            return row if self._decrypt(row, token_encryption.ACCESS) == token else None
        except ReconnectRequired:
            return None

    def _decrypt(self, row: GitCredential, field: str) -> str | None:
        return token_encryption.decrypt_token(self.keyring, row.id, field, getattr(row, token_encryption.column(field)))
