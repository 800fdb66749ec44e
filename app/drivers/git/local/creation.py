"""Operations on whole repositories on this machine: creation, clone, facts, packing."""

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

from app.drivers.errors import UpstreamRejected
from app.drivers.git.local.clone import clone_repository
from app.drivers.git.local.commands import run
from app.drivers.git.local.create import create_repository, require_object_checks
from app.drivers.git.local.folders import folder_of
from app.drivers.git.local.packing import PACK_TIMEOUT_S, needs_packing, pack
from app.drivers.git.local.refs import default_branch
from app.drivers.git.local.repositories import LocalRepositories
from app.drivers.git.port import Person, RepoRef, Repository


class LocalCreation(LocalRepositories):
    """Creation, facts and packing of repositories."""

    _bot: Person
    _clone_hosts: tuple[str, ...]

    def create(self, name: str, *, source: Path | None = None) -> Repository:
        """Create a bare repository, empty (HEAD at `main`, no commit) or from a folder or repository on this machine.

        Raises:
            RepositoryExists: a repository of this name exists.
            UpstreamRejected: the name or the source cannot be used.
        """
        create_repository(self._root, self._new_folder(name), source=source, bot=self._bot)
        return self.repository(RepoRef(name))

    def clone(self, name: str, url: str, *, watch: Callable[[int], None]) -> Repository:
        """Create a bare repository with the branches of a public repository. `watch` receives the received bytes.

        Raises:
            RepositoryExists: a repository of this name exists.
            UpstreamRejected: the URL cannot be used, or its repository is too large.
            UpstreamTimeout: the clone took too long.
        """
        folder = self._new_folder(name)
        clone_repository(self._root, folder, url, hosts=self._clone_hosts, watch=watch)
        return self.repository(RepoRef(name))

    def repository(self, repo: RepoRef) -> Repository:
        """Read the repository. Its id is its name, its date that of the newest commit of all branches."""
        folder = self._folder(repo)
        command = (
            "for-each-ref",
            "--sort=-committerdate",
            "--count=1",
            "--format=%(committerdate:unix)",
            "refs/heads/",
        )
        newest = run(folder, *command, timeout_s=self._timeout_s).stdout.strip()
        updated_at = datetime.fromtimestamp(int(newest), UTC) if newest else None
        return Repository(repo.name, repo.name, default_branch(folder), True, None, updated_at)

    def needs_packing(self, repo: RepoRef) -> bool:
        """Return whether the repository has many loose objects or packs."""
        return needs_packing(self._folder(repo))

    def repack(self, repo: RepoRef, *, timeout_s: float = PACK_TIMEOUT_S) -> bool:
        """Pack the repository. Return False if another process of the service packs it."""
        require_object_checks(self._folder(repo))
        return pack(self._folder(repo), timeout_s=timeout_s)

    def _new_folder(self, name: str) -> Path:
        folder = folder_of(self._root, name)
        if folder is None:
            raise UpstreamRejected(
                "The repository name must have the form owner/name with letters, digits, “.”, “_” and “-” only",
                code="INVALID_NAME",
            )
        return folder
