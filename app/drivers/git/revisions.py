"""The part of the port of Git hosts that reads past commits: logs, comparisons and reachability."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple, Protocol, runtime_checkable

from app.drivers.git.port import CommitInfo

MAX_FILES = 3000
"""The largest number of changed paths in a comparison."""

MAX_VERSIONS = 30
"""The largest number of versions of a file that are read from a REST host to find one of them."""


class FileStatus(StrEnum):
    """The difference of one path between two commits."""

    ADDED = "added"
    MODIFIED = "modified"
    REMOVED = "removed"
    RENAMED = "renamed"
    TYPE_CHANGED = "type_changed"
    """A file became a symbolic link or a submodule, or the reverse. Git shows the letter T."""


class CommitLogEntry(NamedTuple):
    """A commit of a log. `path` is the path of the file at this commit, or None in the log of a branch."""

    commit: CommitInfo
    path: str | None


class FileDifference(NamedTuple):
    """One path that differs between two commits.

    `previous_path` is the path at the base if it is another one. The counts are numbers of lines as in
    `git diff --numstat`. They are None for a binary file, and if the host does not report them.
    """

    path: str
    previous_path: str | None
    status: FileStatus
    additions: int | None
    deletions: int | None


@dataclass(frozen=True)
class Differences:
    """The paths that differ between two commits, sorted by path.

    `truncated` is True if there are more or a count is missing.
    """

    files: tuple[FileDifference, ...]
    truncated: bool = False


@runtime_checkable
class Revisions(Protocol):
    """The past of a repository. Methods may raise the same errors as those of `Repository`."""

    @property
    def follows_renames(self) -> bool:
        """Return whether the log of a file contains the commits from before it was renamed."""

    def log(self, commit: str, *, path: str | None, skip: int, limit: int) -> Sequence[CommitLogEntry]:
        """Return commits up to `commit`, newest first, after the first `skip` of them.

        With a path these are the commits that changed the file. Raises GitObjectMissing for an unknown commit.
        """

    def compare(self, base: str, head: str) -> Differences:
        """Compare two commits directly, without their common ancestor. Raises GitObjectMissing for an unknown commit.

        A file that is similar to a removed one is renamed, by the rules of `git diff`.
        """

    def merge_base(self, first: str, second: str) -> str | None:
        """Return the best common ancestor of two commits, or None if they have none.

        With several best ones it is any of them. Raises GitObjectMissing for an unknown commit.
        """

    def is_reachable(self, commit: str, *, branch: str) -> bool:
        """Return whether any branch contains a commit. `branch` is checked first. False for an unknown commit."""

    def has_version(self, commit: str, path: str, blob: str) -> bool:
        """Return whether a file had the content `blob` at a commit or an earlier one, also before it was renamed.

        The search is bounded: by time on this machine, by the newest `MAX_VERSIONS` changes of a path at a REST host.
        False for an older version, an unknown commit and an unknown blob.
        """


def has_other_type(before: str, after: str) -> bool:
    """Return whether two modes of Git belong to entries of different types. The executable bit is not a type."""
    return before[:2] != after[:2]


def sort_differences(files: Sequence[FileDifference]) -> tuple[FileDifference, ...]:
    """Sort by path, in the order of Git, and keep at most `MAX_FILES`."""
    return tuple(sorted(files, key=lambda file: file.path.encode()))[:MAX_FILES]
