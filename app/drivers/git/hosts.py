"""The repository hosts of this installation: which are there, and who acts on them with which token."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from app.drivers.errors import Absent
from app.drivers.git.bundles import Bundles
from app.drivers.git.connections import Accounts, CodeFlow, InstallationAccounts, InstallationApp
from app.drivers.git.port import GitProvider, RepoRef, Repository, RepositoryUnavailable
from app.drivers.git.rest import TokenSupplier, fixed_token
from app.drivers.http import LIMITS

LOCAL, GITHUB, GITLAB = "local", "github", "gitlab"


MakeProvider = Callable[[TokenSupplier, float], GitProvider]
"""(where its tokens come from, how many seconds a call may take with its repetitions) → the host, acting with them."""


class LocalHost(GitProvider, Protocol):
    """The host whose repositories are made here and need no credential."""

    @property
    def bundles(self) -> Bundles:
        """Its repositories as files."""

    def create(self, name: str, *, source: Path | None = None) -> Repository:
        """Make the repository `owner/name`, empty or from a folder. Raises RepositoryExists, Rejected."""

    def tidy(self, repo: RepoRef) -> None:
        """Pack what many commits have left loose; may take minutes, readers and writers go on meanwhile."""


@dataclass(frozen=True)
class GitHubHost:
    """Provider A: `provider` makes it act with a supplier's tokens; `app` is None where our app is not set up."""

    provider: MakeProvider
    accounts: InstallationAccounts
    app: InstallationApp | None


@dataclass(frozen=True)
class GitLabHost:
    """Provider B: `provider` makes it act with a supplier's tokens; `app` is None where our application is not set up."""

    provider: MakeProvider
    accounts: Accounts
    app: CodeFlow | None


class GitHosts:
    """Hands out providers by host. `local` is None where it is switched off."""

    def __init__(
        self, local: LocalHost | None, *, github: GitHubHost | None = None, gitlab: GitLabHost | None = None
    ) -> None:
        self.local = local
        self._github, self._gitlab = github, gitlab

    def acting(
        self, provider: str, token: str | TokenSupplier | None = None, *, patience_s: float = LIMITS.deadline_s
    ) -> GitProvider:
        """One host, acting with one credential; `local` takes none.

        A token that stands alone cannot be renewed; `patience_s` bounds one call with its repetitions, 30 in a request
        and more in a job.

        Raises:
            RepositoryUnavailable: the host is not part of this installation, or it needs a token.
        """
        if provider == LOCAL and self.local is not None:
            return self.local
        host = self._remote(provider)
        if host is None:
            raise RepositoryUnavailable(f"This installation has no repositories of {provider}")
        if token is None:
            raise RepositoryUnavailable("Connect an account that reaches this repository first")
        return host.provider(fixed_token(token) if isinstance(token, str) else token, patience_s)

    def accounts(self, provider: str) -> Accounts:
        """A remote host's accounts. Raises Absent."""
        host = self._remote(provider)
        if host is None:
            raise _not_set_up(provider)
        return host.accounts

    @property
    def github(self) -> tuple[InstallationApp, InstallationAccounts]:
        """Our app on GitHub, and the accounts there. Raises Absent."""
        if self._github is None or self._github.app is None:
            raise _not_set_up(GITHUB)
        return self._github.app, self._github.accounts

    @property
    def gitlab(self) -> tuple[CodeFlow, Accounts]:
        """Our application on GitLab, and the accounts there. Raises Absent."""
        if self._gitlab is None or self._gitlab.app is None:
            raise _not_set_up(GITLAB)
        return self._gitlab.app, self._gitlab.accounts

    def _remote(self, provider: str) -> GitHubHost | GitLabHost | None:
        return {GITHUB: self._github, GITLAB: self._gitlab}.get(provider)


def _not_set_up(provider: str) -> Absent:
    return Absent(f"Connecting {provider} accounts is not set up on this installation", code="PROVIDER_NOT_CONFIGURED")
