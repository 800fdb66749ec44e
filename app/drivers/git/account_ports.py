"""Ports for the accounts of a Git host and for the app that receives tokens."""

from typing import Protocol

from app.drivers.git.accounts import AppInstallation, GitAccount, InstallationToken, RepositoryPage, TokenSet
from app.drivers.git.rest.tokens import TokenSupplier


class Accounts(Protocol):
    """The accounts of a host. Each call takes a token of the account."""

    def whoami(self, token: str | TokenSupplier) -> GitAccount:
        """Return the user of a token. Raises TokenRejected."""

    def repositories(
        self,
        token: str | TokenSupplier,
        installation_id: str | None = None,
        *,
        search: str | None = None,
        cursor: str | None = None,
    ) -> RepositoryPage:
        """Return a page of the repositories that the token can reach, filtered by `search`.

        `cursor` is that of the previous page.
        """


class InstallationAccounts(Accounts, Protocol):
    """The accounts of a host with installed apps (provider A)."""

    def installations(self, token: str | TokenSupplier) -> list[AppInstallation]:
        """Return the installations of the app that are visible to the user."""

    def can_access_installation(self, token: str | TokenSupplier, installation_id: str) -> bool:
        """Return whether an installation is visible to the user."""

    def revoke_installation_token(self, token: str) -> None:
        """Revoke the token of an installation. A token that no longer exists is not an error."""


class AccountApp(Protocol):
    """The app of Galley on a host."""

    def refresh(self, refresh_token: str) -> TokenSet:
        """Refresh the tokens of a user. The old tokens become invalid. Raises ReconnectRequired."""

    def revoke(self, token: str) -> None:
        """Revoke a token of the user."""


class InstallationApp(AccountApp, Protocol):
    """The app of Galley on a host with installed apps (provider A)."""

    def start_url(self, state: str) -> str:
        """Return the URL at which a person installs the app."""

    def exchange(self, code: str) -> TokenSet:
        """Exchange a code for the tokens of the user. Raises CodeRejected."""

    def installation_token(
        self,
        installation_id: str,
        *,
        repository: str | None = None,
        repository_id: str | None = None,
        fresh: bool = False,
    ) -> InstallationToken:
        """Return a token for an installation, or for one repository of it. Raises ReconnectRequired."""


class OAuthApp(AccountApp, Protocol):
    """The OAuth application of Galley on a host without installed apps (provider B)."""

    def authorize_url(self, *, redirect_uri: str, state: str, code_challenge: str) -> str:
        """Return the URL at which a person grants access."""

    def exchange(self, code: str, *, redirect_uri: str, code_verifier: str | None = None) -> TokenSet:
        """Exchange a code for tokens. Raises CodeRejected."""
