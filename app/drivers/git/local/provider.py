"""The Git host of bare repositories on this machine: `owner/name` is `<root>/owner/name.git`.

Works in greenlets (with the standard library patched) and in threads.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from datetime import UTC, datetime
from functools import partial
from itertools import islice
from pathlib import Path

from app.concurrency.child_processes import ChildProcess
from app.core.errors import ErrorMessage
from app.core.refs import is_branch_name
from app.drivers.errors import UpstreamRejected, UpstreamTimeout
from app.drivers.git.commit_plan import make_plan
from app.drivers.git.errors import BranchExists, BranchMoved, GitObjectMissing, RepositoryDamaged, RepositoryUnavailable
from app.drivers.git.hosts import BackendCall, StoredRepository
from app.drivers.git.local.commands import GitStatusUnknown, run
from app.drivers.git.local.creation import (
    LocalBundles,
    clone_repository,
    create_repository,
    is_old,
    new_folder,
    remove,
    renew,
    require_object_checks,
    set_default_branch,
    settle,
)
from app.drivers.git.local.http_backend import start_backend
from app.drivers.git.local.locks import exclusive_lock
from app.drivers.git.local.new_commit import CommitIdentity, Parents, check_person, create_commit
from app.drivers.git.local.packing import PACK_TIMEOUT_S, needs_packing, pack, remove_leftovers
from app.drivers.git.local.refs import NOTHING, default_branch, list_branches, move, names_conflict, read_loose
from app.drivers.git.local.repositories import RepositoryRoot, folder_of
from app.drivers.git.local.revisions import LocalRevisions, read_history, read_last
from app.drivers.git.local.trees import LocalTree, list_changes, list_readable, list_tree, sized
from app.drivers.git.object_ids import require_shas
from app.drivers.git.port import (
    Branch,
    Capabilities,
    Commit,
    CommitInfo,
    EntryType,
    FileChange,
    PathChange,
    Person,
    RepositoryFacts,
    TreeEntry,
)


class BareRepository(LocalRevisions, StoredRepository):
    """A bare repository on this machine."""

    def renew(self) -> None:
        """Keep the repository for another hour if it has no owner."""
        renew(self._folder())

    def set_default_branch(self, branch: str) -> None:
        set_default_branch(self._folder(), branch)

    def facts(self) -> RepositoryFacts:
        """Read the repository. Its id is its name, its date that of the newest commit of all branches."""
        folder = self._folder()
        command = (
            "for-each-ref",
            "--sort=-committerdate",
            "--count=1",
            "--format=%(committerdate:unix)",
            "refs/heads/",
        )
        newest = run(folder, *command, timeout_s=self._timeout_s).stdout.strip()
        updated_at = datetime.fromtimestamp(int(newest), UTC) if newest else None
        return RepositoryFacts(self._name, self._name, default_branch(folder), True, None, updated_at)

    def needs_packing(self, *, factor: int = 1) -> bool:
        return needs_packing(self._folder(), factor=factor)

    def remove_leftovers(self) -> None:
        """Remove the old files of killed processes."""
        remove_leftovers(self._folder())

    def unreadable_branches(self) -> list[str]:
        folder = self._folder()
        branches = list_branches(folder, timeout_s=self._timeout_s)
        trees = self._objects.check(folder, [f"{branch.sha}^{{tree}}" for branch in branches])
        return [branch.name for branch, tree in zip(branches, trees, strict=True) if tree is None]

    def repack(self, *, timeout_s: float = PACK_TIMEOUT_S) -> bool:
        """Pack the repository. Return False if another process of the service packs it."""
        require_object_checks(self._folder())
        return pack(self._folder(), timeout_s=timeout_s)

    def branches(self) -> Sequence[Branch]:
        """Return all branches sorted by name. A repository without a commit has no branch."""
        return list_branches(self._folder(), timeout_s=self._timeout_s)

    def head(self, branch: str) -> str:
        folder = folder_of(self._root, self._name)
        sha = read_loose(folder, branch) if folder is not None and is_branch_name(branch) else None
        sha = sha or self._find_head(self._folder(), branch)
        if sha is None:
            raise RepositoryUnavailable("The branch does not exist in the repository")
        return sha

    def create_branch(self, name: str, sha: str) -> Branch:
        folder = self._folder()
        if not is_branch_name(name):
            raise UpstreamRejected("The branch name is invalid", code="INVALID_BRANCH")
        self._require_commits(folder, sha)
        if any(names_conflict(name, branch.name) for branch in self.branches()):
            raise BranchExists("A branch of this name exists, or its name conflicts with another branch")
        if not self._move(folder, name, sha, NOTHING):
            raise BranchExists(ErrorMessage("A branch of this name already exists"))
        return Branch(name, sha, name == default_branch(folder), False)

    def delete_branch(self, name: str, *, expected_head: str | None = None) -> None:
        folder = self._folder()
        sha = self._find_head(folder, name)
        if sha is None:
            raise GitObjectMissing("The branch does not exist in the repository")
        if expected_head not in (None, sha):
            raise BranchMoved("The branch has moved since it was read")
        if not self._move(folder, name, NOTHING, sha):
            raise BranchMoved("The branch was changed at the same time")

    def tree(self, commit: str) -> Iterator[TreeEntry]:
        folder = self._folder()
        self._require_commits(folder, commit)
        return list_tree(folder, commit, timeout_s=self._timeout_s)

    def readable_tree(self, commit: str) -> Iterator[TreeEntry]:
        """Yield what can be read of a tree, folder by folder."""
        folder = self._folder()
        return list_readable(self._objects, folder, self._tree(folder, commit))

    def list_folder(self, commit: str, path: str = "", *, limit: int) -> Sequence[TreeEntry]:
        folder = self._folder()
        entries = islice(self._tree(folder, commit).list_folder(path), limit)
        listed = [PathChange(entry.path, entry) for entry in entries]
        return [entry for _, entry in sized(self._objects, folder, listed) if entry is not None]

    def entries(self, commit: str, paths: Sequence[str]) -> dict[str, TreeEntry]:
        folder = self._folder()
        tree = self._tree(folder, commit)
        matches = [PathChange(path, tree.find(path)) for path in paths]
        self._shared.recent_trees.add(folder, commit, tree)
        return {path: entry for path, entry in sized(self._objects, folder, matches) if entry is not None}

    def changes(self, old: str, new: str) -> Iterator[PathChange]:
        """Yield every path that differs between two commits. Raises GitObjectMissing for an unknown commit."""
        folder = self._folder()
        self._require_commits(folder, old, new)
        return sized(self._objects, folder, list_changes(folder, old, new, timeout_s=self._timeout_s))

    def is_ancestor(self, ancestor: str, descendant: str) -> bool:
        folder = self._folder()
        if not self._are_commits(folder, ancestor, descendant):
            return False
        command = ("merge-base", "--is-ancestor", ancestor, descendant)
        return run(folder, *command, timeout_s=self._timeout_s, accepts=(0, 1)).returncode == 0

    def history(self, new: str, *, since: str | None = None) -> Iterator[CommitInfo]:
        folder = self._folder()
        self._require_commits(folder, *filter(None, (new, since)))
        return read_history(folder, new, since, timeout_s=self._timeout_s)

    def last_commit(self, commit: str, path: str) -> CommitInfo:
        folder = self._folder()
        self._require_commits(folder, commit)
        last = read_last(folder, commit, path, timeout_s=self._timeout_s)
        if last is None:
            raise GitObjectMissing("No commit of the branch has changed that path")
        return last

    def blob(self, sha: str, *, max_bytes: int) -> bytes:
        return b"".join(self.open_blob(sha, max_bytes=max_bytes))

    def open_blob(self, sha: str, *, max_bytes: int) -> Iterator[bytes]:
        """Yield a blob in pieces. Raises an error of `blob` or RepositoryDamaged with the first piece."""
        require_shas(sha)
        return self._objects.open(self._folder(), sha, EntryType.BLOB, max_bytes=max_bytes)

    def blobs(self, shas: Iterable[str], *, max_bytes: int) -> Iterator[tuple[str, bytes | None]]:
        for header, content in self._objects.read(self._folder(), _required(shas), max_bytes=max_bytes):
            if header.type == EntryType.BLOB:
                yield header.sha, content

    def branch_lock(self, branch: str) -> AbstractContextManager[None]:
        """Serialize the writers of one branch. Not re-entrant."""
        return exclusive_lock(self._root, self._name, branch)

    def branches_lock(self, branches: Sequence[str]) -> AbstractContextManager[None]:
        """Serialize the writers of several branches. Not re-entrant."""
        return exclusive_lock(self._root, self._name, *branches)

    def start_backend(self, call: BackendCall, *, stream: int, errors: int) -> ChildProcess:
        return start_backend(self._root, self._folder(), call, stream=stream, errors=errors)

    def commit(
        self,
        branch: str,
        changes: Sequence[FileChange],
        message: str,
        *,
        expected_head: str,
        author: Person | None = None,
    ) -> Commit:
        """Write all `changes` as one commit, which is on disk when this function returns."""
        return self._commit(branch, changes, message, (expected_head,), author)

    def commit_merge(
        self,
        branch: str,
        changes: Sequence[FileChange],
        message: str,
        *,
        merged: str,
        expected_head: str,
        author: Person | None = None,
    ) -> Commit:
        """Write a merge commit with the tree of `merged` and all `changes`."""
        self._require_commits(self._folder(), merged)
        return self._commit(branch, changes, message, (expected_head, merged), author)

    def _commit(
        self,
        branch: str,
        changes: Sequence[FileChange],
        message: str,
        parents: tuple[str, ...],
        author: Person | None,
    ) -> Commit:
        """Commit on the first parent. The changes apply to the tree of the last one."""
        folder, head, base = self._folder(), parents[0], parents[-1]
        if self.head(branch) != head:
            raise BranchMoved("The branch has moved since it was read")
        tree = self._shared.recent_trees.take(folder, base) or self._tree(folder, base)
        plan, identity = make_plan(changes, tree), CommitIdentity(author or self._shared.bot, self._shared.bot)
        created = create_commit(folder, plan, message, identity, parents=Parents(tuple(dict.fromkeys(parents)), tree))
        if not self._move(folder, branch, created.sha, head):
            raise BranchMoved("The branch has moved since it was read")
        return Commit(created.sha, head, tuple(sized(self._objects, folder, created.changes)))

    def _move(self, folder: Path, branch: str, new: str, old: str) -> bool:
        """Move a branch by compare-and-swap. If the result of git is unknown, read the branch."""
        try:
            return move(self._shared.processes, folder, branch, new, old, head=lambda: self._find_head(folder, branch))
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


class LocalGit:
    """The repositories below `root`. `timeout_s` limits each wait for git.

    `clone_hosts` are the hosts with private addresses from which repositories may be cloned.
    """

    capabilities = Capabilities(bulk_reads=True, commits_blobs=True)

    def __init__(self, root: Path, *, bot: Person, timeout_s: float = 30.0, clone_hosts: Sequence[str] = ()) -> None:
        check_person(bot)
        self._shared = RepositoryRoot(root, timeout_s, bot)
        self._root, self._bot, self._clone_hosts = self._shared.root, bot, tuple(clone_hosts)
        self.bundles = LocalBundles(self._root)

    def close(self) -> None:
        """End the processes of the pool. The next call starts new ones."""
        self._shared.processes.close()

    def open(self, name: str) -> BareRepository:
        return BareRepository(self._shared, name)

    def create(self, name: str, *, source: Path | None = None, is_claimed: bool = True) -> RepositoryFacts:
        """Create a bare repository, empty (HEAD at `main`, no commit) or from a folder or repository on this machine.

        `remove_unclaimed` removes the repository after an hour if it has no owner then, unless `is_claimed`.

        Raises:
            RepositoryExists: a repository of this name exists.
            UpstreamRejected: the name or the source cannot be used.
        """
        create_repository(self._root, new_folder(self._root, name), source=source, bot=self._bot, is_claimed=is_claimed)
        return self.open(name).facts()

    def renew(self, name: str) -> RepositoryFacts:
        repository = self.open(name)
        repository.renew()
        return repository.facts()

    def remove(self, name: str) -> None:
        remove(self._root, new_folder(self._root, name))

    def remove_unclaimed(self, *, is_owned: Callable[[str], bool]) -> list[str]:
        removed = []
        for name in list(self.bundles.names()):
            folder = new_folder(self._root, name)
            if is_old(folder) and settle(self._root, folder, is_owned=partial(is_owned, name)):
                removed.append(name)
        return removed

    def clone(self, name: str, url: str, *, watch: Callable[[int], None]) -> RepositoryFacts:
        """Create a bare repository with the branches of a public repository. `watch` receives the received bytes.

        Raises:
            RepositoryExists: a repository of this name exists.
            UpstreamRejected: the URL cannot be used, or its repository is too large.
            UpstreamTimeout: the clone took too long.
        """
        folder = new_folder(self._root, name)
        clone_repository(self._root, folder, url, hosts=self._clone_hosts, watch=watch)
        return self.open(name).facts()


def _required(shas: Iterable[str]) -> Iterator[str]:
    for sha in shas:
        require_shas(sha)
        yield sha
