"""The port of Git hosts: repositories, pull requests, and bundles of local repositories.

Every implementation passes `tests/drivers/git/contract.py`. Paths are valid UTF-8 and not normalized. Shas are 40
hexadecimal digits.
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from pathlib import Path
from typing import NamedTuple, Protocol, runtime_checkable

from app.drivers.errors import DriverError


@dataclass(frozen=True)
class RepoRef:
    """A repository by its full name `owner/name`, and its id at the host if known."""

    name: str
    id: str | None = None


@dataclass(frozen=True)
class RepositoryFacts:
    """A repository of a host. `writable` is False if the host reports that the caller may not push."""

    id: str
    full_name: str
    default_branch: str
    private: bool
    url: str | None
    updated_at: datetime | None = None
    writable: bool = True


@dataclass(frozen=True)
class Branch:
    """A branch and its head commit."""

    name: str
    sha: str
    default: bool
    protected: bool


class EntryType(StrEnum):
    """The type of a path: a file (or symbolic link), or the commit of a submodule."""

    BLOB = "blob"
    COMMIT = "commit"


class TreeEntry(NamedTuple):
    """One path of a tree. `size` is in bytes, or None for submodules and if the host does not report it."""

    path: str
    type: str
    mode: str
    sha: str
    size: int | None


class PathChange(NamedTuple):
    """One path that differs between two commits. `entry` is None if it was deleted."""

    path: str
    entry: TreeEntry | None


class Action(StrEnum):
    """The change of a path by a commit."""

    CREATE = "create"
    UPDATE = "update"
    DELETE = "delete"
    MOVE = "move"


@dataclass(frozen=True)
class FileChange:
    """The change of one file. `content` is None for a deletion and for a move without new content.

    `blob` is an entry of the repository whose content a new file receives instead of `content`. A host that does not
    commit blobs downloads and sends them.
    `is_executable` sets or clears the mode 100755. None keeps the mode of the present file; a new file is not
    executable.
    """

    path: str
    action: Action
    content: bytes | None = None
    previous_path: str | None = None
    is_executable: bool | None = None
    blob: TreeEntry | None = None


@dataclass(frozen=True)
class Person:
    """A name and an e-mail of a commit."""

    name: str
    email: str


MAX_MESSAGE = 32 * 1024
"""The characters of a commit message that are read. The message of a save has fewer."""


@dataclass(frozen=True)
class CommitInfo:
    """A commit with the start of its message, its author, author date (UTC) and first parent."""

    sha: str
    message: str
    author: Person
    date: datetime
    parent: str | None = None
    paths: tuple[str, ...] = ()


@dataclass(frozen=True)
class Commit:
    """A new commit with the new entry of every path, or None for a deleted path."""

    sha: str
    parent: str
    changes: tuple[PathChange, ...]
    url: str | None = None


@dataclass(frozen=True)
class Capabilities:
    """The differences between hosts that their calls do not show.

    `bulk_reads`: many blobs are read without one request each.
    `commits_blobs`: a commit contains blobs of the repository without a transfer of their bytes.
    `installations`: the app of Galley is installed for an account, and receives tokens for it.
    `revokes_refresh_tokens`: the app of Galley can revoke refresh tokens.
    """

    bulk_reads: bool = False
    commits_blobs: bool = False
    installations: bool = False
    revokes_refresh_tokens: bool = False


class Repository(Protocol):
    """A repository of a Git host, read and written with one credential. Safe to share between greenlets.

    Any method may raise RepositoryUnavailable and the errors of the transport.
    """

    def facts(self) -> RepositoryFacts:
        """Read the repository."""

    def branches(self) -> Sequence[Branch]:
        """Return all branches sorted by name."""

    def head(self, branch: str) -> str:
        """Return the head commit of a branch. Raises RepositoryUnavailable if the branch does not exist."""

    def create_branch(self, name: str, sha: str) -> Branch:
        """Create a branch at `sha`.

        Raises:
            BranchExists: a branch of this name exists, or its name contains the name of another branch.
            GitObjectMissing: the commit does not exist.
        """

    def delete_branch(self, name: str, *, expected_head: str | None = None) -> None:
        """Delete a branch, with `expected_head` only if the branch is at this commit.

        The commits of the branch stay until the host removes unreachable objects. The local host compares and deletes
        in one step. A remote host has no such call: its branch is read directly before it is deleted, and a commit
        between the two calls is deleted with the branch.

        Raises:
            GitObjectMissing: there is no such branch.
            UpstreamRejected: the host protects the branch.
            BranchMoved: the branch is not at `expected_head`, or was changed at the same moment. It was not deleted.
        """

    def tree(self, commit: str) -> Iterator[TreeEntry]:
        """Yield every file of a commit in the order of Git. The tree is complete, or an error is raised."""

    def readable_tree(self, commit: str) -> Iterator[TreeEntry]:
        """Yield what can be read of the tree of a commit, in no defined order.

        A file that is missing or damaged has no size. A folder that cannot be read is one entry of the type `tree`.
        """
        yield from self.tree(commit)

    def list_folder(self, commit: str, path: str = "", *, limit: int) -> Sequence[TreeEntry]:
        """Return what a folder contains directly, sub-folders as type `tree`, in no defined order.

        Costs one call per 100 entries at most. Returns at most `limit` entries and none if the path is not a folder.

        Raises:
            GitObjectMissing: the commit does not exist.
        """

    def entries(self, commit: str, paths: Sequence[str]) -> dict[str, TreeEntry]:
        """Return the entries of the paths that exist at a commit. A folder has the type `tree`."""

    def changes(self, old: str, new: str) -> Iterator[PathChange]:
        """Yield every path that differs between two commits. A rename is a deletion and a creation."""

    def is_ancestor(self, ancestor: str, descendant: str) -> bool:
        """Return whether `ancestor` is reachable from `descendant` or equal to it. False for an unknown commit."""

    def history(self, new: str, *, since: str | None = None) -> Iterator[CommitInfo]:
        """Yield the commits from `new` back to `since` (exclusive), newest first, with their paths."""

    def last_commit(self, commit: str, path: str) -> CommitInfo:
        """Return the newest commit up to `commit` that changed `path`. Raises GitObjectMissing."""

    def blob(self, sha: str, *, max_bytes: int) -> bytes:
        """Read a blob of at most `max_bytes`. A larger one is not read. Raises GitObjectMissing, TooLargeToRead."""

    def open_blob(self, sha: str, *, max_bytes: int) -> Iterator[bytes]:
        """Yield a blob in pieces, or in one piece if the host does not support more.

        Raises GitObjectMissing or TooLargeToRead with the first piece.
        """
        yield self.blob(sha, max_bytes=max_bytes)

    def blobs(self, shas: Iterable[str], *, max_bytes: int) -> Iterator[tuple[str, bytes | None]]:
        """Yield blobs in the order of `shas`. The content of a blob above `max_bytes` is None, and is not read.

        The local host omits blobs that are missing or damaged. A remote host returns None above 10 MiB.
        """

    def branch_lock(self, branch: str) -> AbstractContextManager[None]:
        """Serialize the writers of one branch while they read a head and commit on it.

        The lock only avoids failed attempts. Correctness depends on `expected_head` alone.
        """

    def commit(
        self,
        branch: str,
        changes: Sequence[FileChange],
        message: str,
        *,
        expected_head: str,
        author: Person | None = None,
    ) -> Commit:
        """Write all `changes` as one commit. Never force the branch.

        The bot is the author unless `author` is a person. The committer is the bot; on GitLab it is the owner of the
        token.

        The changes apply together to the tree at `expected_head`: a path that one change deletes or moves is free for
        another. Updates and moves preserve the mode of a file. A created file is a regular file.

        Raises:
            BranchMoved: the branch is no longer at `expected_head`. Nothing was changed.
            PathConflict: the changes do not fit that tree.
            UpstreamRejected: a path or the message cannot be written.
        """

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
        """Bring the commit `merged` into a branch: its tree, with `changes`, becomes the tree of the branch.

        The parents of the new commit are `expected_head` and `merged`, and `parent` is `expected_head`. The changes
        apply to the tree of `merged` as those of `commit` to the tree of the head. They may be empty.

        GitLab has no call that creates a commit with two parents. There the branch becomes one commit after `merged`,
        and `parent` is `merged`: the branch no longer contains the earlier commits. GitLab overwrites the branch
        without a comparison. The head is read directly before the call, and a push between both calls is lost.

        Raises:
            BranchMoved: the branch is not at `expected_head`. Nothing was changed.
            GitObjectMissing: the commit `merged` does not exist.
            PathConflict: the changes do not fit the tree of `merged`.
            UpstreamRejected: a path or the message cannot be written, or the host protects the branch.
        """


class PullRequestState(StrEnum):
    """The state of a pull request."""

    OPEN = "open"
    MERGED = "merged"
    CLOSED = "closed"


@dataclass(frozen=True)
class PullRequest:
    """A pull request of GitHub or a merge request of GitLab. `number` is unique in its repository.

    `head_sha` is the newest commit that the host has processed, or empty if it has processed none. `merge_sha` is the
    commit by which it was merged, or None.
    """

    number: int
    title: str
    state: PullRequestState
    head: str
    base: str
    url: str
    head_sha: str
    merge_sha: str | None = None


class CheckState(StrEnum):
    """The state of the checks of a commit, for example tests and builds."""

    PENDING = "pending"
    PASSED = "passed"
    FAILED = "failed"
    NONE = "none"


@dataclass(frozen=True)
class Checks:
    """The checks of the commit `head_sha`. `failed` contains the names of failed ones, sorted."""

    head_sha: str
    state: CheckState
    failed: tuple[str, ...] = ()


@dataclass(frozen=True)
class Merged:
    """The merge commit of a pull request and its branch."""

    sha: str
    branch: str


class PullRequestExists(DriverError):
    """An open pull request of the same branches that exists already (409)."""


class NotMergeable(DriverError):
    """A pull request that is merged, closed or not mergeable (409). Nothing was changed.

    The message contains that of the host if the branches conflict or a rule of the host forbids the merge.
    """


@runtime_checkable
class PullRequests(Protocol):
    """The pull requests of a repository, if its host has them."""

    def pull_requests(self) -> Sequence[PullRequest]:
        """Return the newest 100 pull requests, newest first."""

    def create_pull_request(self, *, title: str, head: str, base: str, body: str) -> PullRequest:
        """Create a pull request. Raises PullRequestExists, UpstreamRejected, RepositoryUnavailable."""

    def pull_request(self, number: int) -> PullRequest:
        """Return a pull request. Raises GitObjectMissing."""

    def checks(self, number: int) -> Checks:
        """Return the checks of the head of a pull request. Raises GitObjectMissing.

        Checks that the credential may not read are not counted. The host decides at the merge.
        """

    def merge_pull_request(
        self,
        number: int,
        *,
        message: str | None = None,
        is_squash: bool = False,
        expected_head: str | None = None,
    ) -> Merged:
        """Merge a pull request with the method that the host uses by default.

        `message` is the message of the new commit. `is_squash` merges all commits as one; on GitLab the project decides
        whether a merge commit is added, which has the same message. With `expected_head`, only that commit is merged.

        Raises:
            GitObjectMissing: there is no such pull request.
            NotMergeable: it is merged or closed, the branches conflict, or a rule of the host forbids the merge.
            BranchMoved: the head is not `expected_head`.
            UpstreamRejected: the message cannot be stored, or the host refuses for another reason.
        """


@dataclass(frozen=True)
class BundleInfo:
    """A repository in a bundle: the branch of HEAD, the number of refs and a hash of both.

    Objects are named by their content, so two repositories with equal refs have the same history.
    """

    head: str
    refs: int
    sha256: str


class Bundles(Protocol):
    """The local repositories as one file each."""

    def names(self) -> Iterator[str]:
        """Yield the names `owner/name` of all repositories, sorted."""

    def described(self, name: str) -> BundleInfo | None:
        """Return the present state of a repository, or None if it does not exist."""

    def write(self, name: str, file: Path) -> BundleInfo:
        """Write every ref and its objects to a new file. Write no file for a repository without refs.

        A ref that is pushed at the same time has its old or its new value.
        """

    def read(self, name: str, file: Path | None, head: str) -> BundleInfo:
        """Create a repository from a bundle, or an empty one. Raises RepositoryExists, UpstreamRejected."""
