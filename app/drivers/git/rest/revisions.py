"""The past of repositories of REST hosts. GitHub and GitLab implement `RepositoryRevisions`."""

from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, Protocol

from app.core.refs import is_sha
from app.drivers.git.object_ids import require_shas
from app.drivers.git.port import RepoRef
from app.drivers.git.rest.calls import PAGE
from app.drivers.git.revisions import CommitLogEntry, Differences, Revisions

MAX_READ = 50
"""The largest number of files that a comparison reads to complete the counts of the host."""


class RepositoryRevisions(Protocol):
    """The past of one repository."""

    def log(self, commit: str, path: str | None, skip: int, limit: int) -> Sequence[CommitLogEntry]:
        """Return commits up to `commit`, newest first, after the first `skip` of them."""

    def compare(self, base: str, head: str) -> Differences:
        """Compare two different commits directly."""

    def require_commit(self, commit: str) -> None:
        """Raise GitObjectMissing for an unknown commit."""

    def is_reachable(self, commit: str, branch: str) -> bool:
        """Return whether any branch contains a commit."""


class RemoteRevisions(Revisions):
    """Logs, comparisons and reachability of commits of a REST host. The host ends the log of a file at a rename."""

    @abstractmethod
    def _past(self, repo: RepoRef) -> RepositoryRevisions:
        """Return the past of a repository."""

    @property
    def follows_renames(self) -> bool:
        """The hosts do not follow renames."""
        return False

    def log(self, repo: RepoRef, commit: str, *, path: str | None, skip: int, limit: int) -> Sequence[CommitLogEntry]:
        """Return commits up to `commit`, newest first, after the first `skip` of them."""
        require_shas(commit)
        return self._past(repo).log(commit, path, skip, limit)

    def compare(self, repo: RepoRef, base: str, head: str) -> Differences:
        """Compare two commits directly."""
        require_shas(base, head)
        if base == head:
            self._past(repo).require_commit(head)
            return Differences(())
        return self._past(repo).compare(base, head)

    def is_reachable(self, repo: RepoRef, commit: str, *, branch: str) -> bool:
        """Return whether any branch contains a commit."""
        return is_sha(commit) and self._past(repo).is_reachable(commit, branch)


def read_window(read_page: Callable[[int], list[Any]], skip: int, limit: int) -> list[Any]:
    """Return the items of a list from `skip` on. `read_page` takes a page number from 1 and returns up to 100 items."""
    size = int(PAGE)
    first, last = skip // size, (skip + limit - 1) // size
    items: list[Any] = []
    for number in range(first, last + 1):
        page = read_page(number + 1)
        items += page
        if len(page) < size:
            break
    return items[skip - first * size :][:limit]
