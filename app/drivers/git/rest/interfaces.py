"""Interfaces of the parts of a REST provider that differ between hosts."""

from collections.abc import Iterator, Sequence
from typing import Protocol

from app.drivers.git.port import Commit, CommitInfo, FileChange, PathChange, TreeEntry


class TreeReader(Protocol):
    """The trees of one repository."""

    def full_tree(self, commit: str) -> list[TreeEntry]:
        """Return all entries of a commit, folders included."""

    def entries(self, commit: str, paths: Sequence[str]) -> dict[str, TreeEntry]:
        """Return the entries of the paths that exist at a commit."""

    def list_folder(self, commit: str, path: str, limit: int) -> Sequence[TreeEntry]:
        """Return the direct entries of a folder, at most `limit` entries."""

    def changes(self, old: str, new: str) -> Iterator[PathChange]:
        """Yield every path that differs between two commits."""


class CommitHistory(Protocol):
    """The commits of one repository."""

    def between(self, new: str, since: str | None) -> Iterator[CommitInfo]:
        """Yield the commits from `new` back to `since` (exclusive), newest first."""

    def last(self, commit: str, path: str) -> CommitInfo:
        """Return the newest commit up to `commit` that changed `path`."""


class CommitWriter(Protocol):
    """The writer of commits on one branch."""

    def make(
        self, changes: Sequence[FileChange], message: str, expected_head: str, merged: str | None = None
    ) -> Commit:
        """Make a commit. See `GitProvider.commit`, and `GitProvider.commit_merge` for `merged`."""
