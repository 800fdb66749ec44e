"""Access to the bare repositories `owner/name` below one folder."""

import os
import re
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path

from app.core.refs import is_branch_name, is_sha
from app.drivers.git.errors import GitObjectMissing, RepositoryDamaged, RepositoryUnavailable
from app.drivers.git.local.processes import CatFiles, ProcessPool
from app.drivers.git.local.refs import list_branches
from app.drivers.git.local.trees import RecentTrees
from app.drivers.git.port import EntryType, Person
from app.security.private_files import make_private_folder

_PART = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
_TAKEN_ENDINGS = (".git", ".lock", ".")


def is_repository_name(name: str) -> bool:
    """Return whether `name` is a valid `owner/name`."""
    parts = name.split("/")
    return len(parts) == 2 and all(map(_is_part, parts))


def folder_of(root: Path, name: str) -> Path | None:
    """Return the folder of a repository, which need not exist.

    Return None for an invalid name and for a symbolic link: a repository would then have two names, and one
    organization could reach a repository of another.
    """
    if not is_repository_name(name):
        return None
    owner = Path(_resolved(root), name.partition("/")[0])
    folder = owner / f"{name.partition('/')[2]}.git"
    return None if owner.is_symlink() or folder.is_symlink() else folder


@cache
def _resolved(root: Path) -> str:
    return os.path.realpath(root)


def is_bare_repository(folder: Path) -> bool:
    """Return whether a folder looks like a bare repository."""
    return (folder / "HEAD").is_file() and (folder / "objects").is_dir() and (folder / "refs").is_dir()


def foreign_storage(folder: Path) -> str | None:
    """Return why a repository folder may lead to files outside of it. Return None if it does not.

    The folder may come from an untrusted archive. Git follows links and alternates, so an import could copy objects of
    another repository on this machine.
    """
    if folder.is_symlink() or not folder.is_dir():
        return "its .git is a link or a file. Import the main repository instead"
    if (folder / "objects/info/alternates").exists():
        return "it borrows objects from another repository. Run `git repack -a -d` and remove objects/info/alternates"
    if (folder / "commondir").exists():
        return "it is a linked worktree. Import the main repository instead"
    links = [
        folder / name for name in ("HEAD", "packed-refs", "config", "refs", "objects") if (folder / name).is_symlink()
    ]
    links += [path for name in ("refs", "objects") for path in _links_below(folder / name)]
    return f"{links[0].relative_to(folder)} is a symbolic link" if links else None


def sizes_of(folder: Path) -> Iterator[int]:
    """Yield the sizes of all files below a folder, in bytes. Files that disappear are skipped."""
    for parent, _folders, names in os.walk(folder):
        for name in names:
            with suppress(OSError):
                yield Path(parent, name).lstat().st_size


def _links_below(folder: Path) -> Iterator[Path]:
    for parent, folders, names in os.walk(folder):
        yield from (path for name in (*folders, *names) if (path := Path(parent, name)).is_symlink())


def _is_part(part: str) -> bool:
    return _PART.fullmatch(part) is not None and ".." not in part and not part.lower().endswith(_TAKEN_ENDINGS)


class RepositoryRoot:
    """The folder `root` with the processes and trees that its repositories share.

    `timeout_s` limits each wait for git.
    """

    def __init__(self, root: Path, timeout_s: float, bot: Person) -> None:
        make_private_folder(root)
        self.root, self.timeout_s, self.bot = root.resolve(), timeout_s, bot
        self.processes = ProcessPool(timeout_s)
        self.objects = CatFiles(self.processes)
        self.recent_trees = RecentTrees()


class RepositoryFolder:
    """The bare repository `owner/name`, which is the folder `<root>/owner/name.git`."""

    def __init__(self, shared: RepositoryRoot, name: str) -> None:
        self._shared, self._name = shared, name
        self._root, self._timeout_s, self._objects = shared.root, shared.timeout_s, shared.objects

    def _folder(self) -> Path:
        folder = folder_of(self._root, self._name)
        if folder is None or not is_bare_repository(folder):
            raise RepositoryUnavailable("The repository does not exist")
        return folder

    def _find_head(self, folder: Path, branch: str) -> str | None:
        """Return the head of a branch, or None if there is no such branch. Raises RepositoryDamaged."""
        if not is_branch_name(branch):
            return None
        [result] = self._objects.check(folder, [f"refs/heads/{branch}"])
        if result is None and any(
            list_branch.name == branch for list_branch in list_branches(folder, timeout_s=self._timeout_s)
        ):
            raise RepositoryDamaged(f"The commit of the branch {branch} is missing or damaged")
        return result.sha if result is not None else None

    def _are_commits(self, folder: Path, *shas: str) -> bool:
        if not all(map(is_sha, shas)):
            return False
        results = list(self._objects.check(folder, shas))
        return all(result is not None and result.type == EntryType.COMMIT for result in results)

    def _require_commits(self, folder: Path, *shas: str) -> None:
        if not self._are_commits(folder, *shas):
            raise self._missing_commit(folder, *shas)

    def _missing_commit(self, folder: Path, *shas: str) -> GitObjectMissing:
        """Return the error for a commit that cannot be read. A branch may lead to it."""
        if any(branch.sha in shas for branch in list_branches(folder, timeout_s=self._timeout_s)):
            return RepositoryDamaged("The commit of a branch is missing or damaged")
        return GitObjectMissing("The commit does not exist in the repository")
