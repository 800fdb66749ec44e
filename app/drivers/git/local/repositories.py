"""Access to the bare repositories below one folder."""

from pathlib import Path

from app.core.refs import is_branch_name, is_sha
from app.drivers.git.errors import GitObjectMissing, RepositoryDamaged, RepositoryUnavailable
from app.drivers.git.local.catfile import CatFiles
from app.drivers.git.local.folders import folder_of, is_bare_repository
from app.drivers.git.local.processes import ProcessPool
from app.drivers.git.local.refs import list_branches
from app.drivers.git.port import EntryType, RepoRef
from app.security.private_files import make_private_folder


class LocalRepositories:
    """The repositories below `root`: `owner/name` is `<root>/owner/name.git`. `timeout_s` limits each wait for git."""

    def __init__(self, root: Path, timeout_s: float) -> None:
        make_private_folder(root)
        self._root, self._timeout_s = root.resolve(), timeout_s
        self._processes = ProcessPool(timeout_s)
        self._objects = CatFiles(self._processes)

    def _folder(self, repo: RepoRef) -> Path:
        folder = folder_of(self._root, repo.name)
        if folder is None or not is_bare_repository(folder):
            raise RepositoryUnavailable("The repository does not exist")
        return folder

    def _find_head(self, folder: Path, branch: str) -> str | None:
        """Return the head of a branch, or None if there is no such branch. Raises RepositoryDamaged."""
        if not is_branch_name(branch):
            return None
        [result] = self._objects.check(folder, [f"refs/heads/{branch}"])
        if result is None and any(each.name == branch for each in list_branches(folder, timeout_s=self._timeout_s)):
            raise RepositoryDamaged(f"The commit of the branch {branch} is missing or damaged")
        return result.sha if result is not None else None

    def _are_commits(self, folder: Path, *shas: str) -> bool:
        if not all(map(is_sha, shas)):
            return False
        results = list(self._objects.check(folder, shas))
        return all(each is not None and each.type == EntryType.COMMIT for each in results)

    def _require_commits(self, folder: Path, *shas: str) -> None:
        if not self._are_commits(folder, *shas):
            raise self._missing_commit(folder, *shas)

    def _missing_commit(self, folder: Path, *shas: str) -> GitObjectMissing:
        """Return the error for a commit that cannot be read. A branch may lead to it."""
        if any(branch.sha in shas for branch in list_branches(folder, timeout_s=self._timeout_s)):
            return RepositoryDamaged("The commit of a branch is missing or damaged")
        return GitObjectMissing("The commit does not exist in the repository")
