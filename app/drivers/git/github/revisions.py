"""The commits of one repository of GitHub: logs, comparisons, and the paths of each commit."""

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

from app.concurrency.bounded import map_in_order
from app.core.paths import path_error
from app.drivers.git.errors import GitObjectMissing, TooLargeToRead
from app.drivers.git.file_diff import is_binary
from app.drivers.git.github import values
from app.drivers.git.github.calls import MAX_FILES
from app.drivers.git.github.trees import GitHubTrees
from app.drivers.git.object_ids import require_shas
from app.drivers.git.port import CommitInfo
from app.drivers.git.rest.calls import NO_COMMIT, PAGE
from app.drivers.git.rest.client import TREE_BYTES
from app.drivers.git.rest.responses import parses
from app.drivers.git.rest.revisions import MAX_READ, read_window
from app.drivers.git.rest.tree_comparison import MAX_BYTES, compare_trees
from app.drivers.git.revisions import (
    CommitLogEntry,
    Differences,
    FileDifference,
    FileStatus,
    has_other_type,
    sort_differences,
)

MAX_FILES_LISTED = 3000  # GitHub "Get a commit": maximum number of files
NO_CHANGE = "No commit of the branch has changed that path"
MAX_BRANCHES = 60
"""The number of branches that are searched for a commit, because GitHub has no such call."""
_STATUS = {"added": FileStatus.ADDED, "copied": FileStatus.ADDED, "removed": FileStatus.REMOVED}


class GitHubRevisions(GitHubTrees):
    """The commits of one repository."""

    def history(self, new: str, *, since: str | None = None) -> Iterator[CommitInfo]:
        """Yield the commits from `new` back to `since` (exclusive), newest first.

        The paths of a merge are those in which it differs from all its parents.
        """
        comparison = self.memory.comparison
        if comparison is not None and comparison.only is not None and comparison.ends == (since, new):
            return iter([comparison.only])
        shas = self._all(new) if since is None else iter(self._since(new, since))
        return map_in_order(self._commit, shas)

    def last_commit(self, commit: str, path: str) -> CommitInfo:
        """Return the newest commit up to `commit` that changed `path`, without its paths."""
        require_shas(commit)
        if path_error(path):
            raise GitObjectMissing(NO_CHANGE)
        data = self.read("/commits", {"sha": commit, "path": path, "per_page": "1"}, missing=NO_COMMIT)
        if not data:
            raise GitObjectMissing(NO_CHANGE)
        return values.commit(data[0])

    def _all(self, new: str) -> Iterator[str]:
        require_shas(new)
        for page in self.pages("/commits", {"sha": new}, missing=NO_COMMIT):
            yield from map(values.sha, page)

    def _since(self, new: str, since: str) -> list[str]:
        """Return the commits of a comparison, newest first."""
        require_shas(new, since)
        pages = self.pages(f"/compare/{since}...{new}", {}, missing=NO_COMMIT, items="commits")
        return [values.sha(data) for page in pages for data in page][::-1]

    def _commit(self, sha: str) -> CommitInfo:
        data = self.read(f"/commits/{sha}", {"per_page": "1"}, missing=NO_COMMIT)
        parents = values.parents(data)
        paths = self._paths(sha, parents) if parents else self._all_paths(sha)
        return values.commit(data, tuple(sorted(paths, key=str.encode)))

    def _paths(self, sha: str, parents: list[str]) -> set[str]:
        files: list[Any] = []
        for page in self.pages(f"/commits/{sha}", {}, missing=NO_COMMIT, items="files"):
            files += page
        first = values.changed_paths(files)
        if len(files) >= MAX_FILES_LISTED:
            first = self._difference(parents[0], sha)
        return first.intersection(*(self._difference(parent, sha) for parent in parents[1:]))

    def _difference(self, old: str, new: str) -> set[str]:
        return {change.path for change in self.changes(old, new)}

    def _all_paths(self, sha: str) -> set[str]:
        return {entry.path for entry in self.full_tree(sha) if entry.type != "tree"}

    def _log(self, commit: str, path: str | None, skip: int, limit: int) -> list[CommitLogEntry]:
        if path is not None and path_error(path):
            return []
        params = {"sha": commit, "per_page": PAGE} | ({"path": path} if path is not None else {})

        def read_page(number: int) -> list[object]:
            page: list[object] = self.read("/commits", {**params, "page": str(number)}, missing=NO_COMMIT)
            return page

        return [CommitLogEntry(values.commit(data), path) for data in read_window(read_page, skip, limit)]

    def require_commit(self, commit: str) -> None:
        self.read(f"/git/commits/{commit}", missing=NO_COMMIT)

    def _compare(self, base: str, head: str) -> Differences:
        """Compare two different commits directly. GitHub compares with the common ancestor, and up to 300 files."""
        try:
            data = self.read(f"/compare/{base}...{head}", {"per_page": "1"}, missing=NO_COMMIT, max_bytes=TREE_BYTES)
        except GitObjectMissing:  # An unknown commit, or no common ancestor.
            data = {}
        files = _complete_files(data)
        if files is None:
            return compare_trees(self, base, head)
        uncounted = [file for file in files if _needs_content(file)]
        binary = dict(map_in_order(self._is_binary, map(values.sha, uncounted[:MAX_READ])))
        types = self._changed_types(base, head, [file["filename"] for file in files if file["status"] == "changed"])
        differences = [
            file._replace(status=FileStatus.TYPE_CHANGED) if file.path in types else file
            for file in (_difference(file, binary) for file in files)
        ]
        return Differences(sort_differences(differences), truncated=len(uncounted) > MAX_READ)

    def _merge_base(self, first: str, second: str) -> str:
        """Return the best common ancestor. GitHub responds with 404 if there is none."""
        # Only the first page contains files.
        params = {"per_page": "1", "page": "2"}
        return values.merge_base(self.read(f"/compare/{first}...{second}", params, missing=NO_COMMIT))

    def _is_reachable(self, commit: str, branch: str) -> bool:
        """Return whether any of the first branches contains a commit."""
        if self.is_ancestor(commit, self.head(branch)):
            return True
        heads = {branch.sha for branch in list(self._branches())[:MAX_BRANCHES]}
        return commit in heads or any(map_in_order(partial(self.is_ancestor, commit), sorted(heads)))

    def _changed_types(self, base: str, head: str, paths: Sequence[str]) -> set[str]:
        """Return the paths whose types differ. GitHub reports changed modes and types as "changed"."""
        if not paths:
            return set()
        old, new = self.entries(base, paths), self.entries(head, paths)
        return {path for path in {*old} & {*new} if has_other_type(old[path].mode, new[path].mode)}

    def _is_binary(self, sha: str) -> tuple[str, bool]:
        try:
            return sha, is_binary(self.blob(sha, max_bytes=MAX_BYTES))
        except TooLargeToRead:
            return sha, True
        except GitObjectMissing:  # The commit of a submodule.
            return sha, False


@parses
def _complete_files(data: dict[str, Any]) -> list[dict[str, Any]] | None:
    """Return the files of a comparison, or None if it is incomplete or not direct."""
    files: list[dict[str, object]] = data.get("files") or []
    return files if data.get("status") == "ahead" and len(files) < MAX_FILES else None


@parses
def _needs_content(file: dict[str, object]) -> bool:
    """Return whether the counts may be those of a binary file, which GitHub reports as zero."""
    return file["additions"] == file["deletions"] == 0 and "patch" not in file


@parses
def _difference(file: dict[str, Any], binary: dict[str, bool]) -> FileDifference:
    previous = file.get("previous_filename") if file["status"] == "renamed" else None
    status = FileStatus.RENAMED if previous else _STATUS.get(file["status"], FileStatus.MODIFIED)
    is_counted = not _needs_content(file) or binary.get(file["sha"]) is False
    counts: Sequence[int | None] = (file["additions"], file["deletions"]) if is_counted else (None, None)
    return FileDifference(file["filename"], previous, status, *counts)
