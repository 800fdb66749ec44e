"""The commits of one repository of GitHub with their paths."""

from collections.abc import Iterator
from typing import Any

from app.concurrency.bounded import map_in_order
from app.core.paths import path_error
from app.drivers.git.errors import GitObjectMissing
from app.drivers.git.github import values
from app.drivers.git.github.calls import GitHubRepository
from app.drivers.git.github.trees import GitHubTrees
from app.drivers.git.object_ids import require_shas
from app.drivers.git.port import CommitInfo
from app.drivers.git.rest.calls import NO_COMMIT

MAX_FILES_LISTED = 3000  # GitHub "Get a commit": maximum number of files
NO_CHANGE = "No commit of the branch has changed that path"


class GitHubHistory:
    """The commits of one repository."""

    def __init__(self, repository: GitHubRepository) -> None:
        self._repository = repository

    def between(self, new: str, since: str | None) -> Iterator[CommitInfo]:
        """Yield the commits from `new` back to `since` (exclusive), newest first.

        The paths of a merge are those in which it differs from all its parents.
        """
        comparison = self._repository.memory.comparison
        if comparison is not None and comparison.only is not None and comparison.ends == (since, new):
            return iter([comparison.only])
        shas = self._all(new) if since is None else iter(self._since(new, since))
        return map_in_order(self._commit, shas)

    def last(self, commit: str, path: str) -> CommitInfo:
        """Return the newest commit up to `commit` that changed `path`, without its paths."""
        require_shas(commit)
        if path_error(path):
            raise GitObjectMissing(NO_CHANGE)
        data = self._repository.read("/commits", {"sha": commit, "path": path, "per_page": "1"}, missing=NO_COMMIT)
        if not data:
            raise GitObjectMissing(NO_CHANGE)
        return values.commit(data[0])

    def _all(self, new: str) -> Iterator[str]:
        require_shas(new)
        for page in self._repository.pages("/commits", {"sha": new}, missing=NO_COMMIT):
            yield from map(values.sha, page)

    def _since(self, new: str, since: str) -> list[str]:
        """Return the commits of a comparison, newest first."""
        require_shas(new, since)
        pages = self._repository.pages(f"/compare/{since}...{new}", {}, missing=NO_COMMIT, items="commits")
        return [values.sha(data) for page in pages for data in page][::-1]

    def _commit(self, sha: str) -> CommitInfo:
        data = self._repository.read(f"/commits/{sha}", {"per_page": "1"}, missing=NO_COMMIT)
        parents = values.parents(data)
        paths = self._paths(sha, parents) if parents else self._all_paths(sha)
        return values.commit(data, tuple(sorted(paths, key=str.encode)))

    def _paths(self, sha: str, parents: list[str]) -> set[str]:
        files: list[Any] = []
        for page in self._repository.pages(f"/commits/{sha}", {}, missing=NO_COMMIT, items="files"):
            files += page
        first = values.changed_paths(files)
        if len(files) >= MAX_FILES_LISTED:
            first = self._difference(parents[0], sha)
        return first.intersection(*(self._difference(parent, sha) for parent in parents[1:]))

    def _difference(self, old: str, new: str) -> set[str]:
        return {change.path for change in GitHubTrees(self._repository).changes(old, new)}

    def _all_paths(self, sha: str) -> set[str]:
        return {entry.path for entry in GitHubTrees(self._repository).full_tree(sha) if entry.type != "tree"}
