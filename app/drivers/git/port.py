"""What Galley asks of a repository host, whichever it is.

Every implementation passes `tests/drivers/git/contract.py`. Paths are text as Git has them (valid UTF-8, not
normalised); shas are 40 hexadecimal digits.
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import NamedTuple, Protocol

from app.drivers.errors import DriverError, Rejected


class RepositoryUnavailable(Rejected):
    """The repository or branch does not exist or cannot be read with this credential (422 `REPO_UNAVAILABLE`)."""

    def __init__(self, message: str) -> None:
        super().__init__(message, code="REPO_UNAVAILABLE")


class ObjectNotFound(DriverError):
    """The commit, blob or path does not exist in that repository (404)."""


class TooLargeToRead(DriverError):
    """The file has more bytes than its host is asked for (413)."""


class BranchExists(DriverError):
    """A branch of that name is already there (409)."""


class RepositoryExists(DriverError):
    """A repository of that name is already there (409)."""


class PathConflict(DriverError):
    """Changes that do not fit the tree they are made on (409); nothing was changed.

    A created path exists, an updated, moved or deleted one does not, or a file would stand where a folder is. `paths`
    are those at fault.
    """

    def __init__(self, message: str, paths: Sequence[str]) -> None:
        super().__init__(message)
        self.paths = tuple(paths)


class BranchMoved(DriverError):
    """The branch is no longer at the expected head; nothing was changed."""


@dataclass(frozen=True)
class RepoRef:
    """A repository by its full name `owner/name`; `id` is the host's own, where it has one."""

    name: str
    id: str | None = None


@dataclass(frozen=True)
class Repository:
    """What a host tells of a repository; `writable` is whether the one who asked may push, where the host says it."""

    id: str
    full_name: str
    default_branch: str
    private: bool
    url: str | None
    updated_at: datetime | None = None
    writable: bool = True


@dataclass(frozen=True)
class Branch:
    """A branch and the commit it is at."""

    name: str
    sha: str
    default: bool
    protected: bool


class EntryType(StrEnum):
    """What a path names: a file (or symlink), or a submodule's commit."""

    BLOB = "blob"
    COMMIT = "commit"


class TreeEntry(NamedTuple):
    """One path of a tree; `size` in bytes, None for submodules and where the host does not tell it."""

    path: str
    type: str
    mode: str
    sha: str
    size: int | None


class PathChange(NamedTuple):
    """One path that differs between two commits; `entry` is None when it is gone."""

    path: str
    entry: TreeEntry | None


class Action(StrEnum):
    """What a commit does to a path."""

    CREATE = "create"
    UPDATE = "update"
    DELETE = "delete"
    MOVE = "move"


@dataclass(frozen=True)
class FileChange:
    """One file of a commit. `content` is None for a delete, and for a move that keeps the bytes."""

    path: str
    action: Action
    content: bytes | None = None
    previous_path: str | None = None


@dataclass(frozen=True)
class Person:
    """A name and an e-mail as they stand in a commit."""

    name: str
    email: str


@dataclass(frozen=True)
class CommitInfo:
    """A commit: its message whole, its author, the author's date (UTC) and its first parent."""

    sha: str
    message: str
    author: Person
    date: datetime
    parent: str | None = None
    paths: tuple[str, ...] = ()


@dataclass(frozen=True)
class Commit:
    """A commit this service made, with every path's new entry (None when deleted)."""

    sha: str
    parent: str
    changes: tuple[PathChange, ...]
    url: str | None = None


class GitProvider(Protocol):
    """One repository host, acting with one credential. Safe to share between greenlets: holds no mutable state.

    Any method may raise RepositoryUnavailable (the repository is gone or closed), and the DriverErrors of its line.
    """

    def repository(self, repo: RepoRef) -> Repository:
        """The repository's own facts."""

    def branches(self, repo: RepoRef) -> Sequence[Branch]:
        """All branches, by name."""

    def head(self, repo: RepoRef, branch: str) -> str:
        """The sha a branch is at. Raises RepositoryUnavailable when there is no such branch."""

    def create_branch(self, repo: RepoRef, name: str, sha: str) -> Branch:
        """Make a branch at `sha`. Raises BranchExists, ObjectNotFound."""

    def tree(self, repo: RepoRef, commit: str) -> Iterator[TreeEntry]:
        """Every file under a commit, streamed, sorted as Git sorts; complete or an error, never a part of a tree."""

    def entries(self, repo: RepoRef, commit: str, paths: Sequence[str]) -> dict[str, TreeEntry]:
        """The named paths that exist at a commit; a path that is a folder there is given as type `tree`."""

    def changes(self, repo: RepoRef, old: str, new: str) -> Iterator[PathChange]:
        """Every path that differs between two commits, streamed, renames as delete and create."""

    def is_ancestor(self, repo: RepoRef, ancestor: str, descendant: str) -> bool:
        """Whether `ancestor` is reachable from `descendant` (or is it); False when it is unknown."""

    def history(self, repo: RepoRef, new: str, *, since: str | None = None) -> Iterator[CommitInfo]:
        """Commits from `new` back to, without, `since` (newest first), each with the paths it changed."""

    def last_commit(self, repo: RepoRef, commit: str, path: str) -> CommitInfo:
        """The newest commit at or before `commit` that changed `path`. Raises ObjectNotFound."""

    def blob(self, repo: RepoRef, sha: str) -> bytes:
        """A blob's bytes. Raises ObjectNotFound, TooLargeToRead."""

    def open_blob(self, repo: RepoRef, sha: str) -> Iterator[bytes]:
        """A blob in pieces, for those too large to hold; in one piece where the host gives no other.

        Raises ObjectNotFound, TooLargeToRead, with the first.
        """
        yield self.blob(repo, sha)

    def blobs(self, repo: RepoRef, shas: Iterable[str]) -> Iterator[tuple[str, bytes | None]]:
        """Many blobs, streamed, in the order asked for; None for those too large to be read many at a time."""

    def writing(self, repo: RepoRef, branch: str) -> AbstractContextManager[None]:
        """Hold while reading a head and committing on it: writers of one branch then come one after another.

        An optimisation that spares failed attempts; correctness rests on `expected_head` alone.
        """

    def commit(
        self,
        repo: RepoRef,
        branch: str,
        changes: Sequence[FileChange],
        message: str,
        *,
        expected_head: str,
    ) -> Commit:
        """Write all `changes` as one commit by the bot; never forces the branch.

        The changes are one set, made on the tree at `expected_head`: a path that one of them deletes or moves away is
        free for another. An update, and a move, keep the file's mode; a created file is a plain one.

        Raises:
            BranchMoved: the branch is no longer at `expected_head`; nothing was changed.
            PathConflict: the changes do not fit that tree.
            Rejected: a path or the message cannot be written.
        """

    def content(self, repo: RepoRef, commit: str, path: str) -> bytes:
        """The bytes of the file at a path. Raises ObjectNotFound."""
        entry = self.entries(repo, commit, [path]).get(path)
        if entry is None or entry.type != EntryType.BLOB:
            raise ObjectNotFound("There is no such file in the repository")
        return self.blob(repo, entry.sha)
