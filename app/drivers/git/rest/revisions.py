"""The base class of the past of repositories of REST hosts."""

from abc import abstractmethod
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from app.concurrency.bounded import map_in_order
from app.core.refs import is_sha
from app.drivers.git.errors import GitObjectMissing
from app.drivers.git.object_ids import require_shas
from app.drivers.git.port import EntryType, TreeEntry
from app.drivers.git.rest.calls import PAGE
from app.drivers.git.revisions import MAX_VERSIONS, CommitLogEntry, Differences, Revisions

MAX_READ = 50
"""The largest number of files that a comparison reads to complete the counts of the host."""

MAX_PATHS = 3
"""The number of paths of a renamed file in whose histories a version is searched."""


class RemoteRevisions(Revisions):
    """The past of a repository of a REST host. The host ends the log of a file at a rename."""

    @abstractmethod
    def entries(self, commit: str, paths: Sequence[str]) -> dict[str, TreeEntry]: ...

    @abstractmethod
    def require_commit(self, commit: str) -> None:
        """Raise GitObjectMissing for an unknown commit."""

    @abstractmethod
    def _log(self, commit: str, path: str | None, skip: int, limit: int) -> Sequence[CommitLogEntry]:
        """Return commits up to `commit`, newest first, after the first `skip` of them."""

    @abstractmethod
    def _compare(self, base: str, head: str) -> Differences:
        """Compare two different commits directly."""

    @abstractmethod
    def _merge_base(self, first: str, second: str) -> str:
        """Return the best common ancestor. Raises GitObjectMissing for an unknown commit, or if there is none."""

    @abstractmethod
    def _is_reachable(self, commit: str, branch: str) -> bool:
        """Return whether any branch contains a commit."""

    @property
    def follows_renames(self) -> bool:
        """The hosts do not follow renames."""
        return False

    def log(self, commit: str, *, path: str | None, skip: int, limit: int) -> Sequence[CommitLogEntry]:
        require_shas(commit)
        return self._log(commit, path, skip, limit)

    def compare(self, base: str, head: str) -> Differences:
        require_shas(base, head)
        if base == head:
            self.require_commit(head)
            return Differences(())
        return self._compare(base, head)

    def merge_base(self, first: str, second: str) -> str | None:
        require_shas(first, second)
        try:
            return self._merge_base(first, second)
        except GitObjectMissing:
            self.require_commit(first)
            self.require_commit(second)
            return None

    def is_reachable(self, commit: str, *, branch: str) -> bool:
        return is_sha(commit) and self._is_reachable(commit, branch)

    def has_version(self, commit: str, path: str, blob: str) -> bool:
        """Return whether a file had a content at a commit or at one of its newest earlier versions."""
        if not is_sha(commit) or not is_sha(blob):
            return False
        for _ in range(MAX_PATHS):
            log = self._log_if_known(commit, path)
            commits = [commit, *(entry.commit.sha for entry in log)]
            if any(map_in_order(partial(self._is_content, path, blob), commits, limit=3)):
                return True
            parent = log[-1].commit.parent if log and len(log) < MAX_VERSIONS else None
            earlier = self._path_before(parent, log[-1].commit.sha, path) if parent is not None else None
            if parent is None or earlier is None:
                return False
            commit, path = parent, earlier
        return False

    def _log_if_known(self, commit: str, path: str) -> Sequence[CommitLogEntry]:
        try:
            return self._log(commit, path, 0, MAX_VERSIONS)
        except GitObjectMissing:
            return ()

    def _is_content(self, path: str, blob: str, commit: str) -> bool:
        try:
            entry = self.entries(commit, [path]).get(path)
        except GitObjectMissing:
            return False
        return entry is not None and entry.type == EntryType.BLOB and entry.sha == blob

    def _path_before(self, base: str, head: str, path: str) -> str | None:
        """Return the path from which a commit renamed a file."""
        files = self.compare(base, head).files
        return next((file.previous_path for file in files if file.path == path and file.previous_path), None)


def read_window(read_page: Callable[[int], list[object]], skip: int, limit: int) -> list[Any]:
    """Return the items of a list from `skip` on. `read_page` takes a page number from 1 and returns up to 100 items."""
    size = int(PAGE)
    first, last = skip // size, (skip + limit - 1) // size
    items: list[object] = []
    for number in range(first, last + 1):
        page = read_page(number + 1)
        items += page
        if len(page) < size:
            break
    return items[skip - first * size :][:limit]
