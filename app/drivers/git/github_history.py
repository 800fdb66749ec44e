"""The commits of one repository of GitHub, each with its paths."""

from collections.abc import Iterator
from typing import Any

from app.core.concurrency import map_in_order
from app.core.paths import path_fault
from app.drivers.git import github_values as values
from app.drivers.git.github_calls import GitHubRepository
from app.drivers.git.github_trees import GitHubTrees
from app.drivers.git.hosted_calls import NO_COMMIT
from app.drivers.git.objects import require_shas
from app.drivers.git.port import CommitInfo, ObjectNotFound

MAX_FILES_LISTED = 3000  # GitHub lists no more files of a commit (“Get a commit”)
NO_CHANGE = "No commit of the branch has changed that path"


class GitHubHistory:
    """The commits of one repository."""

    def __init__(self, repository: GitHubRepository) -> None:
        self._repository = repository

    def between(self, new: str, since: str | None) -> Iterator[CommitInfo]:
        """The commits from `new` back to, without, `since`, newest first.

        A merge is given the paths in which it differs from all its parents: what it changed itself.
        """
        way = self._repository.memory.way
        if way is not None and way.only is not None and way.ends == (since, new):
            return iter([way.only])
        shas = self._all(new) if since is None else iter(self._since(new, since))
        return map_in_order(self._commit, shas)

    def last(self, commit: str, path: str) -> CommitInfo:
        """The newest commit at or before `commit` that changed `path`, without its paths."""
        require_shas(commit)
        if path_fault(path):
            raise ObjectNotFound(NO_CHANGE)
        found = self._repository.read("/commits", {"sha": commit, "path": path, "per_page": "1"}, missing=NO_COMMIT)
        if not found:
            raise ObjectNotFound(NO_CHANGE)
        return values.commit(found[0])

    def _all(self, new: str) -> Iterator[str]:
        require_shas(new)
        for page in self._repository.pages("/commits", {"sha": new}, missing=NO_COMMIT):
            yield from map(values.sha, page)

    def _since(self, new: str, since: str) -> list[str]:
        """What a comparison gives oldest first."""
        require_shas(new, since)
        pages = self._repository.pages(f"/compare/{since}...{new}", {}, missing=NO_COMMIT, items="commits")
        return [values.sha(found) for page in pages for found in page][::-1]

    def _commit(self, sha: str) -> CommitInfo:
        found = self._repository.read(f"/commits/{sha}", {"per_page": "1"}, missing=NO_COMMIT)
        parents = values.parents(found)
        paths = self._paths(sha, parents) if parents else self._all_paths(sha)
        return values.commit(found, tuple(sorted(paths, key=str.encode)))

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
        return {entry.path for entry in GitHubTrees(self._repository).whole(sha) if entry.type != "tree"}
