"""The repository hosts of this installation: which are there, and who acts on them with which token."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Protocol

from app.drivers.git.port import GitProvider, Repository, RepositoryUnavailable

LOCAL = "local"

MakeProvider = Callable[[str], GitProvider]
"""(token) → the host, acting with it."""


class LocalHost(GitProvider, Protocol):
    """The host whose repositories are made here and need no credential."""

    def create(self, name: str, *, source: Path | None = None) -> Repository:
        """Make the repository `owner/name`, empty or from a folder. Raises RepositoryExists, Rejected."""


class GitHosts:
    """Hands out providers by host. `local` is None where it is switched off; `remote` makes the others by token."""

    def __init__(self, local: LocalHost | None, remote: Mapping[str, MakeProvider] | None = None) -> None:
        self.local = local
        self._remote = dict(remote or {})

    def acting(self, provider: str, token: str | None = None) -> GitProvider:
        """One host, acting with one credential; `local` takes none.

        Raises:
            RepositoryUnavailable: the host is not part of this installation, or it needs a token.
        """
        if provider == LOCAL and self.local is not None:
            return self.local
        make = self._remote.get(provider)
        if make is None:
            raise RepositoryUnavailable(f"This installation has no repositories of {provider}")
        if token is None:
            raise RepositoryUnavailable("Connect an account that reaches this repository first")
        return make(token)
