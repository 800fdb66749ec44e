"""Access to the bare repositories below one folder."""

from pathlib import Path

from app.core.refs import is_branch_name, is_sha
from app.drivers.git.errors import GitObjectMissing, RepositoryUnavailable
from app.drivers.git.local.catfile import CatFiles
from app.drivers.git.local.folders import folder_of, is_bare_repository
from app.drivers.git.local.processes import ProcessPool
from app.drivers.git.port import EntryType, RepoRef


class LocalRepositories:
    """The repositories below `root`: `owner/name` is `<root>/owner/name.git`. `timeout_s` limits each wait for git."""

    def __init__(self, root: Path, timeout_s: float) -> None:
        root.mkdir(parents=True, exist_ok=True)
        self._root, self._timeout_s = root.resolve(), timeout_s
        self._processes = ProcessPool(timeout_s)
        self._objects = CatFiles(self._processes)

    def _folder(self, repo: RepoRef) -> Path:
        folder = folder_of(self._root, repo.name)
        if folder is None or not is_bare_repository(folder):
            raise RepositoryUnavailable("The repository does not exist")
        return folder

    def _find_head(self, folder: Path, branch: str) -> str | None:
        if not is_branch_name(branch):
            return None
        [results] = self._objects.check(folder, [f"refs/heads/{branch}"])
        return results.sha if results else None

    def _are_commits(self, folder: Path, *shas: str) -> bool:
        if not all(map(is_sha, shas)):
            return False
        results = list(self._objects.check(folder, shas))
        return all(each is not None and each.type == EntryType.COMMIT for each in results)

    def _require_commits(self, folder: Path, *shas: str) -> None:
        if not self._are_commits(folder, *shas):
            raise GitObjectMissing("The commit does not exist in the repository")
