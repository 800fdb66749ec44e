"""Bare repositories in a folder of this machine as a Git provider: `owner/name` is `<root>/owner/name.git`.

Works in greenlets (with the standard library patched) and in plain threads alike; knows neither.
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from datetime import UTC, datetime
from pathlib import Path

from app.core.refs import is_branch_name, is_sha
from app.drivers.errors import Late, Rejected
from app.drivers.git.local_bundles import LocalBundles
from app.drivers.git.local_catfile import CatFiles
from app.drivers.git.local_commands import run
from app.drivers.git.local_create import create_repository
from app.drivers.git.local_folders import folder_of, is_bare_repository
from app.drivers.git.local_import import check_person, import_commit
from app.drivers.git.local_locks import turn
from app.drivers.git.local_log import read_history, read_last
from app.drivers.git.local_refs import NOTHING, default_branch, list_branches, move, read_loose
from app.drivers.git.local_trees import Tree, list_changes, list_tree, sized
from app.drivers.git.objects import require_shas
from app.drivers.git.plan import make_plan
from app.drivers.git.port import (
    Branch,
    BranchExists,
    BranchMoved,
    Commit,
    CommitInfo,
    EntryType,
    FileChange,
    GitProvider,
    ObjectNotFound,
    PathChange,
    Person,
    RepoRef,
    Repository,
    RepositoryUnavailable,
    TreeEntry,
)

TIDY_S = 600.0


class LocalGit(GitProvider):
    """The repositories under `root`, written to as `bot`; `timeout_s` bounds each wait for git."""

    def __init__(self, root: Path, *, bot: Person, timeout_s: float = 30.0) -> None:
        check_person(bot)
        root.mkdir(parents=True, exist_ok=True)
        self._root, self._bot, self._timeout_s = root.resolve(), bot, timeout_s
        self.bundles = LocalBundles(self._root)
        self._objects = CatFiles(timeout_s)

    def close(self) -> None:
        """End the processes kept for reading; the next call starts new ones."""
        self._objects.close()

    def create(self, name: str, *, source: Path | None = None) -> Repository:
        """Make a bare repository, empty (HEAD at `main`, no commit) or from a folder or repository on this machine.

        Raises:
            RepositoryExists: there is one of that name.
            Rejected: the name or the source cannot be used.
        """
        folder = folder_of(self._root, name)
        if folder is None:
            raise Rejected("A repository is named owner/name: letters, digits, “.”, “_” and “-”", code="INVALID_NAME")
        create_repository(self._root, folder, source=source, bot=self._bot)
        return self.repository(RepoRef(name))

    def tidy(self, repo: RepoRef) -> None:
        """Pack what many commits have left loose, where there is much of it; readers and writers may go on meanwhile."""
        settings = ("-c", "gc.auto=2000", "-c", "gc.autoDetach=false")
        run(self._folder(repo), *settings, "gc", "--auto", "--quiet", timeout_s=TIDY_S)

    def repository(self, repo: RepoRef) -> Repository:
        """The repository's own facts; its id is its name, its date that of the newest commit on a branch."""
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

    def branches(self, repo: RepoRef) -> Sequence[Branch]:
        """All branches, by name; none in a repository without a commit."""
        return list_branches(self._folder(repo), timeout_s=self._timeout_s)

    def head(self, repo: RepoRef, branch: str) -> str:
        """The sha a branch is at."""
        folder = folder_of(self._root, repo.name)
        sha = read_loose(folder, branch) if folder is not None and is_branch_name(branch) else None
        sha = sha or self._find_head(self._folder(repo), branch)
        if sha is None:
            raise RepositoryUnavailable("There is no such branch in the repository")
        return sha

    def create_branch(self, repo: RepoRef, name: str, sha: str) -> Branch:
        """Make a branch at a commit."""
        folder = self._folder(repo)
        if not is_branch_name(name):
            raise Rejected("That cannot be the name of a branch", code="INVALID_BRANCH")
        self._require_commits(folder, sha)
        # Git keeps branches as files, so `a` and `a/b` cannot both be.
        if any(
            f"{name}/".startswith(f"{there.name}/") or there.name.startswith(f"{name}/")
            for there in self.branches(repo)
        ):
            raise BranchExists("There is already a branch of that name, or one in its way")
        if not self._move(folder, name, sha, NOTHING):
            raise BranchExists("There is already a branch of that name")
        return Branch(name, sha, name == default_branch(folder), False)

    def tree(self, repo: RepoRef, commit: str) -> Iterator[TreeEntry]:
        """Every file under a commit."""
        folder = self._folder(repo)
        self._require_commits(folder, commit)
        return list_tree(folder, commit, timeout_s=self._timeout_s)

    def entries(self, repo: RepoRef, commit: str, paths: Sequence[str]) -> dict[str, TreeEntry]:
        """The named paths that exist at a commit."""
        folder = self._folder(repo)
        tree = self._tree(folder, commit)
        found = [PathChange(path, tree.find(path)) for path in paths]
        return {path: entry for path, entry in sized(self._objects, folder, found) if entry is not None}

    def changes(self, repo: RepoRef, old: str, new: str) -> Iterator[PathChange]:
        """Every path that differs between two commits. Raises ObjectNotFound when one of them is unknown."""
        folder = self._folder(repo)
        self._require_commits(folder, old, new)
        return sized(self._objects, folder, list_changes(folder, old, new, timeout_s=self._timeout_s))

    def is_ancestor(self, repo: RepoRef, ancestor: str, descendant: str) -> bool:
        """Whether `ancestor` is reachable from `descendant`."""
        folder = self._folder(repo)
        if not self._are_commits(folder, ancestor, descendant):
            return False
        command = ("merge-base", "--is-ancestor", ancestor, descendant)
        return run(folder, *command, timeout_s=self._timeout_s, accepts=(0, 1)).returncode == 0

    def history(self, repo: RepoRef, new: str, *, since: str | None = None) -> Iterator[CommitInfo]:
        """Commits from `new` back to, without, `since`."""
        folder = self._folder(repo)
        self._require_commits(folder, *filter(None, (new, since)))
        return read_history(folder, new, since, timeout_s=self._timeout_s)

    def last_commit(self, repo: RepoRef, commit: str, path: str) -> CommitInfo:
        """The newest commit at or before `commit` that changed `path`."""
        folder = self._folder(repo)
        self._require_commits(folder, commit)
        found = read_last(folder, commit, path, timeout_s=self._timeout_s)
        if found is None:
            raise ObjectNotFound("No commit of the branch has changed that path")
        return found

    def blob(self, repo: RepoRef, sha: str) -> bytes:
        """A blob's bytes."""
        return b"".join(self.open_blob(repo, sha))

    def open_blob(self, repo: RepoRef, sha: str) -> Iterator[bytes]:
        """Yield a blob in pieces, for those too large to hold. Raises ObjectNotFound with the first."""
        require_shas(sha)
        return self._objects.open(self._folder(repo), sha, EntryType.BLOB)

    def blobs(self, repo: RepoRef, shas: Iterable[str]) -> Iterator[tuple[str, bytes | None]]:
        """Many blobs, in the order asked for."""
        for found, content in self._objects.read(self._folder(repo), _required(shas)):
            if found.type != EntryType.BLOB:
                raise ObjectNotFound("There is no such file in the repository")
            yield found.sha, content

    def writing(self, repo: RepoRef, branch: str) -> AbstractContextManager[None]:
        """Hold while reading a head and committing on it. Not re-entrant."""
        return turn(self._root, repo.name, branch)

    def commit(
        self,
        repo: RepoRef,
        branch: str,
        changes: Sequence[FileChange],
        message: str,
        *,
        expected_head: str,
    ) -> Commit:
        """Write all `changes` as one commit by the bot; on disk when this returns."""
        folder = self._folder(repo)
        if self.head(repo, branch) != expected_head:
            raise BranchMoved("The branch has moved since it was read")
        plan = make_plan(changes, self._tree(folder, expected_head))
        done = import_commit(folder, plan, message, self._bot, parent=expected_head, timeout_s=self._timeout_s)
        if not self._move(folder, branch, done.commit, expected_head):
            raise BranchMoved("The branch has moved since it was read")
        gone: dict[str, TreeEntry | None] = dict.fromkeys(plan.removed)
        come = {
            w.path: TreeEntry(w.path, "blob", w.mode, sha, None)
            for w, sha in zip(plan.written, done.blobs, strict=True)
        }
        made = (PathChange(path, entry) for path, entry in sorted((gone | come).items()))
        return Commit(done.commit, expected_head, tuple(sized(self._objects, folder, made)))

    def _move(self, folder: Path, branch: str, new: str, old: str) -> bool:
        """Compare and swap; when git is killed for being late, the branch itself tells whether it had been moved."""
        try:
            return move(
                folder, branch, new, old, head=lambda: self._find_head(folder, branch), timeout_s=self._timeout_s
            )
        except Late:
            if self._find_head(folder, branch) == new:
                return True
            raise

    def _folder(self, repo: RepoRef) -> Path:
        folder = folder_of(self._root, repo.name)
        if folder is None or not is_bare_repository(folder):
            raise RepositoryUnavailable("There is no such repository")
        return folder

    def _find_head(self, folder: Path, branch: str) -> str | None:
        if not is_branch_name(branch):
            return None
        [found] = self._objects.check(folder, [f"refs/heads/{branch}"])
        return found.sha if found else None

    def _tree(self, folder: Path, commit: str) -> Tree:
        require_shas(commit)
        return Tree(self._objects, folder, commit)

    def _are_commits(self, folder: Path, *shas: str) -> bool:
        if not all(map(is_sha, shas)):
            return False
        found = list(self._objects.check(folder, shas))
        return all(each is not None and each.type == EntryType.COMMIT for each in found)

    def _require_commits(self, folder: Path, *shas: str) -> None:
        if not self._are_commits(folder, *shas):
            raise ObjectNotFound("There is no such commit in the repository")


def _required(shas: Iterable[str]) -> Iterator[str]:
    for sha in shas:
        require_shas(sha)
        yield sha
