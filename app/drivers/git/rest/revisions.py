"""The past of repositories of REST hosts. GitHub and GitLab implement `RepositoryRevisions`."""

from abc import abstractmethod
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Protocol

from app.concurrency.bounded import map_in_order
from app.core.refs import is_sha
from app.drivers.git.errors import GitObjectMissing
from app.drivers.git.object_ids import require_shas
from app.drivers.git.port import EntryType, RepoRef, TreeEntry
from app.drivers.git.rest.calls import PAGE
from app.drivers.git.revisions import MAX_VERSIONS, CommitLogEntry, Differences, Revisions

MAX_READ = 50
"""The largest number of files that a comparison reads to complete the counts of the host."""

MAX_PATHS = 3
"""The number of paths of a renamed file in whose histories a version is searched."""


class RepositoryRevisions(Protocol):
    """The past of one repository."""

    def log(self, commit: str, path: str | None, skip: int, limit: int) -> Sequence[CommitLogEntry]:
        """Return commits up to `commit`, newest first, after the first `skip` of them."""

    def compare(self, base: str, head: str) -> Differences:
        """Compare two different commits directly."""

    def require_commit(self, commit: str) -> None:
        """Raise GitObjectMissing for an unknown commit."""

    def merge_base(self, first: str, second: str) -> str:
        """Return the best common ancestor. Raises GitObjectMissing for an unknown commit, or if there is none."""

    def is_reachable(self, commit: str, branch: str) -> bool:
        """Return whether any branch contains a commit."""


class RemoteRevisions(Revisions):
    """Logs, comparisons and reachability of commits of a REST host. The host ends the log of a file at a rename."""

    @abstractmethod
    def _past(self, repo: RepoRef) -> RepositoryRevisions:
        """Return the past of a repository."""

    @abstractmethod
    def entries(self, repo: RepoRef, commit: str, paths: Sequence[str]) -> dict[str, TreeEntry]:
        """Return the entries of the paths that exist at a commit."""

    @property
    def follows_renames(self) -> bool:
        """The hosts do not follow renames."""
        return False

    def log(self, repo: RepoRef, commit: str, *, path: str | None, skip: int, limit: int) -> Sequence[CommitLogEntry]:
        require_shas(commit)
        return self._past(repo).log(commit, path, skip, limit)

    def compare(self, repo: RepoRef, base: str, head: str) -> Differences:
        require_shas(base, head)
        if base == head:
            self._past(repo).require_commit(head)
            return Differences(())
        return self._past(repo).compare(base, head)

    def merge_base(self, repo: RepoRef, first: str, second: str) -> str | None:
        require_shas(first, second)
        past = self._past(repo)
        try:
            return past.merge_base(first, second)
        except GitObjectMissing:
            past.require_commit(first)
            past.require_commit(second)
            return None

    def is_reachable(self, repo: RepoRef, commit: str, *, branch: str) -> bool:
        return is_sha(commit) and self._past(repo).is_reachable(commit, branch)

    def has_version(self, repo: RepoRef, commit: str, path: str, blob: str) -> bool:
        """Return whether a file had a content at a commit or at one of its newest earlier versions."""
        if not is_sha(commit) or not is_sha(blob):
            return False
        for _ in range(MAX_PATHS):
            log = self._log_if_known(repo, commit, path)
            commits = [commit, *(entry.commit.sha for entry in log)]
            if any(map_in_order(partial(self._is_content, repo, path, blob), commits, limit=3)):
                return True
            parent = log[-1].commit.parent if log and len(log) < MAX_VERSIONS else None
            earlier = self._path_before(repo, parent, log[-1].commit.sha, path) if parent is not None else None
            if parent is None or earlier is None:
                return False
            commit, path = parent, earlier
        return False

    def _log_if_known(self, repo: RepoRef, commit: str, path: str) -> Sequence[CommitLogEntry]:
        try:
            return self._past(repo).log(commit, path, 0, MAX_VERSIONS)
        except GitObjectMissing:
            return ()

    def _is_content(self, repo: RepoRef, path: str, blob: str, commit: str) -> bool:
        try:
            entry = self.entries(repo, commit, [path]).get(path)
        except GitObjectMissing:
            return False
        return entry is not None and entry.type == EntryType.BLOB and entry.sha == blob

    def _path_before(self, repo: RepoRef, base: str, head: str, path: str) -> str | None:
        """Return the path from which a commit renamed a file."""
        files = self.compare(repo, base, head).files
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
