"""Operations on whole repositories on this machine: creation, clone, facts, packing."""

from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from app.drivers.errors import UpstreamRejected
from app.drivers.git.local import unclaimed
from app.drivers.git.local.bundles import LocalBundles
from app.drivers.git.local.clone import clone_repository
from app.drivers.git.local.commands import run
from app.drivers.git.local.create import create_repository, require_object_checks
from app.drivers.git.local.folders import folder_of
from app.drivers.git.local.packing import PACK_TIMEOUT_S, needs_packing, pack
from app.drivers.git.local.refs import default_branch, list_branches
from app.drivers.git.local.repositories import LocalRepositories
from app.drivers.git.port import Person, RepoRef, Repository


class LocalCreation(LocalRepositories):
    """Creation, facts and packing of repositories."""

    _bot: Person
    _clone_hosts: tuple[str, ...]

    bundles: LocalBundles

    def create(self, name: str, *, source: Path | None = None, is_claimed: bool = True) -> Repository:
        """Create a bare repository, empty (HEAD at `main`, no commit) or from a folder or repository on this machine.

        `remove_unclaimed` removes the repository after an hour if it has no owner then, unless `is_claimed`.

        Raises:
            RepositoryExists: a repository of this name exists.
            UpstreamRejected: the name or the source cannot be used.
        """
        create_repository(self._root, self._new_folder(name), source=source, bot=self._bot, is_claimed=is_claimed)
        return self.repository(RepoRef(name))

    def renew(self, name: str) -> Repository:
        """Return an existing repository. One without an owner stays for another hour."""
        unclaimed.renew(self._folder(RepoRef(name)))
        return self.repository(RepoRef(name))

    def remove(self, name: str) -> None:
        """Remove a repository with its files. Nothing happens if it does not exist."""
        unclaimed.remove(self._root, self._new_folder(name))

    def remove_unclaimed(self, *, is_owned: Callable[[str], bool]) -> list[str]:
        """Remove the repositories of failed requests, which have no owner. Return their names."""
        removed = []
        for name in list(self.bundles.names()):
            folder = self._new_folder(name)
            if unclaimed.is_old(folder) and unclaimed.settle(self._root, folder, is_owned=partial(is_owned, name)):
                removed.append(name)
        return removed

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

    def needs_packing(self, repo: RepoRef, *, factor: int = 1) -> bool:
        """Return whether the repository has `factor` times as many loose objects or packs as are tolerated."""
        return needs_packing(self._folder(repo), factor=factor)

    def unreadable_branches(self, repo: RepoRef) -> list[str]:
        """Return the branches whose commit or tree is missing or damaged."""
        folder = self._folder(repo)
        branches = list_branches(folder, timeout_s=self._timeout_s)
        trees = self._objects.check(folder, [f"{branch.sha}^{{tree}}" for branch in branches])
        return [branch.name for branch, tree in zip(branches, trees, strict=True) if tree is None]

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
