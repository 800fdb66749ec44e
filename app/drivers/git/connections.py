"""What connecting accounts asks of a Git host: ports for accounts by their tokens, and for the app that gets tokens."""

from typing import Protocol

from app.drivers.git.accounts import Account, Installation, InstallationToken, RepositoryPage, Tokens


class Accounts(Protocol):
    """A host's accounts, each call with a token of the account."""

    def whoami(self, token: str) -> Account:
        """The user behind a token. Raises TokenRejected."""

    def repositories(
        self, token: str, installation_id: str | None = None, *, search: str | None = None, cursor: str | None = None
    ) -> RepositoryPage:
        """Some of the repositories the token reaches, with `search` in their names; `cursor` as a page gave it."""


class InstallationAccounts(Accounts, Protocol):
    """Accounts of a host whose apps are installed (provider A)."""

    def installations(self, token: str) -> list[Installation]:
        """The installations of the app that a user can see."""

    def sees(self, token: str, installation_id: str) -> bool:
        """Whether a user can see an installation."""

    def revoke_installation_token(self, token: str) -> None:
        """End an installation's token; one that is gone already is no error."""


class InstallationApp(Protocol):
    """Our app on a host whose apps are installed (provider A)."""

    def start_url(self, state: str) -> str:
        """Where a person installs the app."""

    def exchange(self, code: str) -> Tokens:
        """Turn a code into the user's tokens. Raises CodeRejected."""

    def refresh(self, refresh_token: str) -> Tokens:
        """Renew a user's tokens, which ends the old ones. Raises NeedsReconnect."""

    def installation_token(
        self, installation_id: str, *, repository: str | None = None, fresh: bool = False
    ) -> InstallationToken:
        """A token for an installation, or for one `owner/name` of it. Raises NeedsReconnect."""

    def revoke(self, token: str) -> None:
        """End a user's token."""


class CodeFlow(Protocol):
    """Our application on a host with OAuth alone (provider B)."""

    def authorize_url(self, *, redirect_uri: str, state: str, code_challenge: str) -> str:
        """Where a person allows access."""

    def exchange(self, code: str, *, redirect_uri: str, code_verifier: str | None = None) -> Tokens:
        """Turn a code into tokens. Raises CodeRejected."""

    def refresh(self, refresh_token: str, *, redirect_uri: str | None = None) -> Tokens:
        """Renew tokens, which ends the old ones. Raises NeedsReconnect."""

    def revoke(self, token: str) -> None:
        """End a token of either kind."""
