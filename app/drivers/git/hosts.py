"""The Git hosts of this installation and their providers."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Protocol

from app.concurrency.child_processes import ChildProcess
from app.drivers.errors import UpstreamUnavailable
from app.drivers.git.account_ports import AccountApp, Accounts, InstallationAccounts, InstallationApp, OAuthApp
from app.drivers.git.errors import RepositoryUnavailable
from app.drivers.git.port import Bundles, Capabilities, RepoRef, Repository, RepositoryFacts
from app.drivers.git.rest.tokens import TokenSupplier, supplier_of
from app.drivers.http.client import LIMITS

LOCAL = "local"

OpenRepository = Callable[[RepoRef, TokenSupplier, float], Repository]
"""Function of a repository, a token supplier and the time limit of a call with its retries (seconds)."""


class GitService(StrEnum):
    """The services of Git over HTTP."""

    UPLOAD = "git-upload-pack"
    RECEIVE = "git-receive-pack"


@dataclass(frozen=True)
class BackendCall:
    """A request to Git over HTTP.

    `protocol` is the header `Git-Protocol`. `hooks` is the folder of the hooks, and `variables` is their environment.
    """

    service: GitService
    is_advertisement: bool
    protocol: str | None = None
    max_push_bytes: int = 0
    hooks: Path | None = None
    variables: Mapping[str, str] = field(default_factory=dict)


class StoredRepository(Repository, Protocol):
    """A repository that this installation stores."""

    def set_default_branch(self, branch: str) -> None:
        """Set HEAD, which clones check out. A branch that does not exist leads to `main` or the first one."""

    def needs_packing(self, *, factor: int = 1) -> bool:
        """Return whether the repository has `factor` times as many loose objects or packs as are tolerated."""

    def remove_leftovers(self) -> None:
        """Remove the old files that killed processes have left."""

    def unreadable_branches(self) -> list[str]:
        """Return the branches whose commit or tree is missing or damaged."""

    def repack(self, *, timeout_s: float = ...) -> bool:
        """Pack the repository, within ten minutes by default. Other calls are not blocked.

        Returns False if another process packs it. Raises UpstreamTimeout, UpstreamError, UpstreamUnavailable.
        """

    def branches_lock(self, branches: Sequence[str]) -> AbstractContextManager[None]:
        """Serialize the writers of several branches, as `branch_lock` does for one."""

    def start_backend(self, call: BackendCall, *, stream: int, errors: int) -> ChildProcess:
        """Start `git http-backend` with a socket as its input and output. It writes a CGI response.

        Raises RepositoryUnavailable, UpstreamUnavailable.
        """


class LocalHost(Protocol):
    """The host of the repositories on this machine. Needs no credential."""

    @property
    def capabilities(self) -> Capabilities:
        """Return what this host does differently."""

    @property
    def bundles(self) -> Bundles:
        """Return the repositories as files."""

    def open(self, name: str) -> StoredRepository:
        """Return the repository `owner/name`, which is read with the first call."""

    def create(self, name: str, *, source: Path | None = None, is_claimed: bool = True) -> RepositoryFacts:
        """Create the repository `owner/name`, empty or from a folder. Raises RepositoryExists, UpstreamRejected.

        Without `is_claimed`, `remove_unclaimed` removes it after an hour if it has no owner then.
        """

    def renew(self, name: str) -> RepositoryFacts:
        """Return an existing repository. One without an owner stays for another hour."""

    def remove(self, name: str) -> None:
        """Remove a repository with its files. Nothing happens if it does not exist."""

    def remove_unclaimed(self, *, is_owned: Callable[[str], bool]) -> list[str]:
        """Remove the repositories of failed requests, which have no owner. Return their names."""

    def clone(self, name: str, url: str, *, watch: Callable[[int], None]) -> RepositoryFacts:
        """Create the repository `owner/name` from a public URL. `watch` receives the received bytes.

        Raises RepositoryExists, UpstreamRejected, UpstreamTimeout.
        """


@dataclass(frozen=True)
class InstallationHost:
    """A remote host on which the app of Galley is installed. `app` is None if it is not configured."""

    open: OpenRepository
    capabilities: Capabilities
    accounts: InstallationAccounts
    app: InstallationApp | None


@dataclass(frozen=True)
class OAuthHost:
    """A remote host with an OAuth application of Galley. `app` is None if it is not configured."""

    open: OpenRepository
    capabilities: Capabilities
    accounts: Accounts
    app: OAuthApp | None


RemoteHost = InstallationHost | OAuthHost


class GitHosts:
    """The Git hosts by the name of the provider. `local` is None if it is disabled."""

    def __init__(self, local: LocalHost | None, remote: Mapping[str, RemoteHost] | None = None) -> None:
        self.local = local
        self._remote = remote or {}

    def open(
        self,
        provider: str,
        name: str,
        repository_id: str | None = None,
        *,
        token: str | TokenSupplier | None = None,
        deadline_s: float = LIMITS.deadline_s,
    ) -> Repository:
        """Return a repository, which is read with the first call. `local` needs no token.

        A token that stands alone cannot be renewed; `deadline_s` bounds one call with its repetitions, 30 in a request
        and more in a job.

        Raises:
            RepositoryUnavailable: the host is not part of this installation, or it needs a token.
        """
        if provider == LOCAL and self.local is not None:
            return self.local.open(name)
        host = self._remote.get(provider)
        if host is None:
            raise RepositoryUnavailable(f"This installation has no repositories of {provider}")
        if token is None:
            raise RepositoryUnavailable("Connect an account that can read this repository first")
        return host.open(RepoRef(name, repository_id), supplier_of(token), deadline_s)

    def capabilities(self, provider: str) -> Capabilities:
        """Return what a host does differently. A host that is not part of this installation does nothing."""
        host = self.local if provider == LOCAL else self._remote.get(provider)
        return Capabilities() if host is None else host.capabilities

    def accounts(self, provider: str) -> Accounts:
        """Return the accounts of a remote host. Raises UpstreamUnavailable."""
        host = self._remote.get(provider)
        if host is None:
            raise _not_set_up(provider)
        return host.accounts

    def app(self, provider: str) -> AccountApp:
        """Return the app on a host. Raises UpstreamUnavailable."""
        host = self._remote.get(provider)
        if host is None or host.app is None:
            raise _not_set_up(provider)
        return host.app

    def installations(self, provider: str) -> tuple[InstallationApp, InstallationAccounts]:
        """Return the app on a host with installed apps, and the accounts there. Raises UpstreamUnavailable."""
        host = self._remote.get(provider)
        if not isinstance(host, InstallationHost) or host.app is None:
            raise _not_set_up(provider)
        return host.app, host.accounts

    def oauth(self, provider: str) -> tuple[OAuthApp, Accounts]:
        """Return the OAuth application on a host and the accounts there. Raises UpstreamUnavailable."""
        host = self._remote.get(provider)
        if not isinstance(host, OAuthHost) or host.app is None:
            raise _not_set_up(provider)
        return host.app, host.accounts


def _not_set_up(provider: str) -> UpstreamUnavailable:
    return UpstreamUnavailable(
        f"Connecting {provider} accounts is not set up on this installation", code="PROVIDER_NOT_CONFIGURED"
    )
