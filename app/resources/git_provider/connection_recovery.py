"""Recovery of connections that a Git host rejected: limits of new attempts and the writes after a success."""

import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass

import sqlalchemy as sa

from app.core.permissions import Role
from app.models.git_credential import CredentialStatus, GitCredential
from app.models.organization import Membership
from app.models.project import ConnectionStatus, Project

FIRST_PAUSE_S, MAX_PAUSE_S = 5.0, 600.0
MAX_CONNECTIONS = 4096
MANAGERS = (Role.OWNER, Role.ADMIN)


@dataclass(frozen=True)
class _Pause:
    """The time until which a connection is not tried, and the length of the pause."""

    until: float
    length_s: float


class RecoveryAttempts:
    """Attempts of one process to use rejected connections. The pause doubles with each rejection."""

    def __init__(self, *, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._pauses: OrderedDict[str, _Pause] = OrderedDict()
        self._lock = threading.Lock()

    def begin(self, connection_id: str) -> bool:
        """Return whether the caller may try a rejected connection. The next attempt has to wait."""
        with self._lock:
            pause = self._pauses.get(connection_id)
            if pause is not None and self._now() < pause.until:
                return False
            self._extend(connection_id)
            return True

    def rejected(self, connection_id: str) -> None:
        """Start a pause for a connection that the host has just rejected for the first time."""
        with self._lock:
            if connection_id not in self._pauses:
                self._extend(connection_id)

    def succeeded(self, connection_id: str) -> None:
        """Remove the pause of a connection that works."""
        with self._lock:
            self._pauses.pop(connection_id, None)

    def _extend(self, connection_id: str) -> None:
        previous = self._pauses.pop(connection_id, None)
        length_s = FIRST_PAUSE_S if previous is None else min(2 * previous.length_s, MAX_PAUSE_S)
        self._pauses[connection_id] = _Pause(self._now() + length_s, length_s)
        while len(self._pauses) > MAX_CONNECTIONS:
            self._pauses.popitem(last=False)


attempts = RecoveryAttempts()
"""Attempts of this process."""


def projects_reactivated_by(row: GitCredential) -> sa.Update:
    """Build the update of the projects that a working credential reactivates.

    The owner of the credential must still be allowed to connect projects of the organization.
    """
    manages = sa.select(Membership.organization_id).where(
        Membership.user_id == row.user_id, Membership.role.in_(MANAGERS)
    )
    return (
        sa.update(Project)
        .where(
            Project.connected_by == row.user_id,
            Project.provider == row.provider,
            Project.installation_id.is_(None),
            Project.connection_account == row.account_login,
            Project.organization_id.in_(manages),
        )
        .values(connection_status=ConnectionStatus.ACTIVE)
    )


def reactivate_credential(connection: sa.Connection, row: GitCredential) -> None:
    """Set a credential and its projects to active, unless its tokens were replaced since `row` was read."""
    restored = connection.execute(
        sa.update(GitCredential)
        .where(
            GitCredential.id == row.id,
            GitCredential.generation == row.generation,
            GitCredential.status == CredentialStatus.NEEDS_RECONNECT,
        )
        .values(status=CredentialStatus.ACTIVE)
    )
    if restored.rowcount:
        connection.execute(projects_reactivated_by(row))


def reactivate_installation(connection: sa.Connection, project_id: str, installation_id: str) -> None:
    """Set the connection of a project through an installation to active."""
    connection.execute(
        sa.update(Project)
        .where(Project.id == project_id, Project.installation_id == installation_id)
        .values(connection_status=ConnectionStatus.ACTIVE)
    )
