"""Sources of tokens for a project: the credential of a user and the installation of the app."""

import math
from dataclasses import dataclass

from app.drivers.errors import ReconnectRequired
from app.drivers.git.accounts import InstallationToken
from app.drivers.git.rest.tokens import seconds_since
from app.resources.git_provider.connection_recovery import RecoveryAttempts
from app.resources.git_provider.connection_recovery import attempts as process_attempts
from app.resources.git_provider.stored_credentials import CredentialMarked
from app.resources.git_provider.token_refresh import TokenRefresher


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
        target = self._target
        app, _ = self._refresher.hosts.installations(target.provider)
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
