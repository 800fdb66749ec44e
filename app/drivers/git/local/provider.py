"""The Git provider for bare repositories on this machine: `owner/name` is `<root>/owner/name.git`.

Works in greenlets (with the standard library patched) and in threads.
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from itertools import islice
from pathlib import Path

from app.concurrency.child_processes import ChildProcess
from app.core.errors import ErrorMessage
from app.core.refs import is_branch_name
from app.drivers.errors import UpstreamRejected, UpstreamTimeout
from app.drivers.git.commit_plan import make_plan
from app.drivers.git.errors import BranchExists, BranchMoved, GitObjectMissing, RepositoryDamaged, RepositoryUnavailable
from app.drivers.git.hosts import BackendCall
from app.drivers.git.local.commands import GitStatusUnknown, run
from app.drivers.git.local.creation import LocalBundles, LocalCreation
from app.drivers.git.local.http_backend import start_backend
from app.drivers.git.local.locks import exclusive_lock
from app.drivers.git.local.new_commit import CommitIdentity, Parents, check_person, create_commit
from app.drivers.git.local.refs import NOTHING, default_branch, list_branches, move, names_conflict, read_loose
from app.drivers.git.local.repositories import folder_of
from app.drivers.git.local.revisions import LocalRevisions, read_history, read_last
from app.drivers.git.local.trees import LocalTree, RecentTrees, list_changes, list_readable, list_tree, sized
from app.drivers.git.object_ids import require_shas
from app.drivers.git.port import (
    Branch,
    Capabilities,
    Commit,
    CommitInfo,
    EntryType,
    FileChange,
    GitProvider,
    PathChange,
    Person,
    RepoRef,
    TreeEntry,
)


class LocalGit(LocalRevisions, LocalCreation, GitProvider):
    """The repositories below `root`. `timeout_s` limits each wait for git.

    `clone_hosts` are the hosts with private addresses from which repositories may be cloned.
    """

    capabilities = Capabilities(bulk_reads=True)

    def __init__(self, root: Path, *, bot: Person, timeout_s: float = 30.0, clone_hosts: Sequence[str] = ()) -> None:
        check_person(bot)
        super().__init__(root, timeout_s)
        self._bot, self._clone_hosts = bot, tuple(clone_hosts)
        self.bundles = LocalBundles(self._root)
        self._recent = RecentTrees()

    def close(self) -> None:
        """End the processes of the pool. The next call starts new ones."""
        self._processes.close()

    def branches(self, repo: RepoRef) -> Sequence[Branch]:
        """Return all branches sorted by name. A repository without a commit has no branch."""
        return list_branches(self._folder(repo), timeout_s=self._timeout_s)

    def head(self, repo: RepoRef, branch: str) -> str:
        folder = folder_of(self._root, repo.name)
        sha = read_loose(folder, branch) if folder is not None and is_branch_name(branch) else None
        sha = sha or self._find_head(self._folder(repo), branch)
        if sha is None:
            raise RepositoryUnavailable("The branch does not exist in the repository")
        return sha

    def create_branch(self, repo: RepoRef, name: str, sha: str) -> Branch:
        folder = self._folder(repo)
        if not is_branch_name(name):
            raise UpstreamRejected("The branch name is invalid", code="INVALID_BRANCH")
        self._require_commits(folder, sha)
        if any(names_conflict(name, branch.name) for branch in self.branches(repo)):
            raise BranchExists("A branch of this name exists, or its name conflicts with another branch")
        if not self._move(folder, name, sha, NOTHING):
            raise BranchExists(ErrorMessage("A branch of this name already exists"))
        return Branch(name, sha, name == default_branch(folder), False)

    def delete_branch(self, repo: RepoRef, name: str, *, expected_head: str | None = None) -> None:
        folder = self._folder(repo)
        sha = self._find_head(folder, name)
        if sha is None:
            raise GitObjectMissing("The branch does not exist in the repository")
        if expected_head not in (None, sha):
            raise BranchMoved("The branch has moved since it was read")
        if not self._move(folder, name, NOTHING, sha):
            raise BranchMoved("The branch was changed at the same time")

    def tree(self, repo: RepoRef, commit: str) -> Iterator[TreeEntry]:
        folder = self._folder(repo)
        self._require_commits(folder, commit)
        return list_tree(folder, commit, timeout_s=self._timeout_s)

    def readable_tree(self, repo: RepoRef, commit: str) -> Iterator[TreeEntry]:
        """Yield what can be read of a tree, folder by folder."""
        folder = self._folder(repo)
        return list_readable(self._objects, folder, self._tree(folder, commit))

    def list_folder(self, repo: RepoRef, commit: str, path: str = "", *, limit: int) -> Sequence[TreeEntry]:
        folder = self._folder(repo)
        entries = islice(self._tree(folder, commit).list_folder(path), limit)
        listed = [PathChange(entry.path, entry) for entry in entries]
        return [entry for _, entry in sized(self._objects, folder, listed) if entry is not None]

    def entries(self, repo: RepoRef, commit: str, paths: Sequence[str]) -> dict[str, TreeEntry]:
        folder = self._folder(repo)
        tree = self._tree(folder, commit)
        matches = [PathChange(path, tree.find(path)) for path in paths]
        self._recent.add(folder, commit, tree)
        return {path: entry for path, entry in sized(self._objects, folder, matches) if entry is not None}

    def changes(self, repo: RepoRef, old: str, new: str) -> Iterator[PathChange]:
        """Yield every path that differs between two commits. Raises GitObjectMissing for an unknown commit."""
        folder = self._folder(repo)
        self._require_commits(folder, old, new)
        return sized(self._objects, folder, list_changes(folder, old, new, timeout_s=self._timeout_s))

    def is_ancestor(self, repo: RepoRef, ancestor: str, descendant: str) -> bool:
        folder = self._folder(repo)
        if not self._are_commits(folder, ancestor, descendant):
            return False
        command = ("merge-base", "--is-ancestor", ancestor, descendant)
        return run(folder, *command, timeout_s=self._timeout_s, accepts=(0, 1)).returncode == 0

    def history(self, repo: RepoRef, new: str, *, since: str | None = None) -> Iterator[CommitInfo]:
        folder = self._folder(repo)
        self._require_commits(folder, *filter(None, (new, since)))
        return read_history(folder, new, since, timeout_s=self._timeout_s)

    def last_commit(self, repo: RepoRef, commit: str, path: str) -> CommitInfo:
        folder = self._folder(repo)
        self._require_commits(folder, commit)
        last = read_last(folder, commit, path, timeout_s=self._timeout_s)
        if last is None:
            raise GitObjectMissing("No commit of the branch has changed that path")
        return last

    def blob(self, repo: RepoRef, sha: str, *, max_bytes: int) -> bytes:
        return b"".join(self.open_blob(repo, sha, max_bytes=max_bytes))

    def open_blob(self, repo: RepoRef, sha: str, *, max_bytes: int) -> Iterator[bytes]:
        """Yield a blob in pieces. Raises an error of `blob` or RepositoryDamaged with the first piece."""
        require_shas(sha)
        return self._objects.open(self._folder(repo), sha, EntryType.BLOB, max_bytes=max_bytes)

    def blobs(self, repo: RepoRef, shas: Iterable[str], *, max_bytes: int) -> Iterator[tuple[str, bytes | None]]:
        for header, content in self._objects.read(self._folder(repo), _required(shas), max_bytes=max_bytes):
            if header.type == EntryType.BLOB:
                yield header.sha, content

    def branch_lock(self, repo: RepoRef, branch: str) -> AbstractContextManager[None]:
        """Serialize the writers of one branch. Not re-entrant."""
        return exclusive_lock(self._root, repo.name, branch)

    def branches_lock(self, repo: RepoRef, branches: Sequence[str]) -> AbstractContextManager[None]:
        """Serialize the writers of several branches. Not re-entrant."""
        return exclusive_lock(self._root, repo.name, *branches)

    def start_backend(self, repo: RepoRef, call: BackendCall, *, stream: int, errors: int) -> ChildProcess:
        return start_backend(self._root, self._folder(repo), call, stream=stream, errors=errors)

    def commit(
        self,
        repo: RepoRef,
        branch: str,
        changes: Sequence[FileChange],
        message: str,
        *,
        expected_head: str,
        author: Person | None = None,
    ) -> Commit:
        """Write all `changes` as one commit, which is on disk when this function returns."""
        return self._commit(repo, branch, changes, message, (expected_head,), author)

    def commit_merge(
        self,
        repo: RepoRef,
        branch: str,
        changes: Sequence[FileChange],
        message: str,
        *,
        merged: str,
        expected_head: str,
        author: Person | None = None,
    ) -> Commit:
        """Write a merge commit with the tree of `merged` and all `changes`."""
        self._require_commits(self._folder(repo), merged)
        return self._commit(repo, branch, changes, message, (expected_head, merged), author)

    def _commit(
        self,
        repo: RepoRef,
        branch: str,
        changes: Sequence[FileChange],
        message: str,
        parents: tuple[str, ...],
        author: Person | None,
    ) -> Commit:
        """Commit on the first parent. The changes apply to the tree of the last one."""
        folder, head, base = self._folder(repo), parents[0], parents[-1]
        if self.head(repo, branch) != head:
            raise BranchMoved("The branch has moved since it was read")
        tree = self._recent.take(folder, base) or self._tree(folder, base)
        plan, identity = make_plan(changes, tree), CommitIdentity(author or self._bot, self._bot)
        created = create_commit(folder, plan, message, identity, parents=Parents(tuple(dict.fromkeys(parents)), tree))
        if not self._move(folder, branch, created.sha, head):
            raise BranchMoved("The branch has moved since it was read")
        return Commit(created.sha, head, tuple(sized(self._objects, folder, created.changes)))

    def _move(self, folder: Path, branch: str, new: str, old: str) -> bool:
        """Move a branch by compare-and-swap. If the result of git is unknown, read the branch."""
        try:
            return move(self._processes, folder, branch, new, old, head=lambda: self._find_head(folder, branch))
        except (UpstreamTimeout, GitStatusUnknown):
            if (self._find_head(folder, branch) or NOTHING) == new:
                return True
            raise

    def _tree(self, folder: Path, commit: str) -> LocalTree:
        require_shas(commit)
        try:
            return LocalTree(self._objects, folder, commit)
        except RepositoryDamaged:
            raise
        except GitObjectMissing as error:
            if self._are_commits(folder, commit):
                raise RepositoryDamaged("The tree of a commit is missing or damaged") from error
            raise self._missing_commit(folder, commit) from error


def _required(shas: Iterable[str]) -> Iterator[str]:
    for sha in shas:
        require_shas(sha)
        yield sha
