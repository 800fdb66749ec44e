"""The past of one project of GitLab."""

from collections.abc import Iterable
from typing import Any

from app.concurrency.bounded import map_in_order
from app.core.paths import path_error
from app.drivers.git.errors import GitObjectMissing, TooLargeToRead
from app.drivers.git.file_diff import compare_contents
from app.drivers.git.gitlab import values
from app.drivers.git.gitlab.trees import GitLabHistory
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
    sort_differences,
)


class GitLabRevisions(GitLabHistory):
    """The past of one project."""

    def _log(self, commit: str, path: str | None, skip: int, limit: int) -> list[CommitLogEntry]:
        if path is not None and path_error(path):
            return []
        params = {"ref_name": commit, "per_page": PAGE} | ({"path": path} if path is not None else {})

        def read_page(number: int) -> list[object]:
            query = {**params, "page": str(number)}
            page: list[object] = self.read("/repository/commits", query, missing=NO_COMMIT)
            return page

        return [CommitLogEntry(values.commit(data), path) for data in read_window(read_page, skip, limit)]

    def _compare(self, base: str, head: str) -> Differences:
        params = {"from": base, "to": head, "straight": "true"}
        data = self.read("/repository/compare", params, missing=NO_COMMIT, max_bytes=TREE_BYTES)
        diffs = _complete_diffs(data)
        if diffs is None:
            return compare_trees(self, base, head)
        uncounted = [number for number, diff in enumerate(diffs) if not _has_text(diff)]
        counts = dict(
            map_in_order(lambda number: (number, self._count(base, head, diffs[number])), uncounted[:MAX_READ])
        )
        files = [_difference(diff, counts.get(number)) for number, diff in enumerate(diffs)]
        return Differences(sort_differences(_joined(files)), truncated=len(uncounted) > MAX_READ)

    def _is_reachable(self, commit: str, branch: str) -> bool:
        try:
            path = f"/repository/commits/{commit}/refs"
            return bool(self.read(path, {"type": "branch", "per_page": "1"}, missing=NO_COMMIT))
        except GitObjectMissing:
            return False

    def _count(self, base: str, head: str, diff: dict[str, Any]) -> tuple[int | None, int | None]:
        """Count the lines of a file whose diff GitLab does not return, for example because it is large."""
        try:
            old = b"" if diff["new_file"] else self._content(base, diff["old_path"])
            new = b"" if diff["deleted_file"] else self._content(head, diff["new_path"])
        except TooLargeToRead:
            return None, None
        if old == new:  # An empty file, a rename or another mode.
            [same] = compare_contents({}, {"file": old})
            return (None, None) if same.additions is None else (0, 0)
        [counted] = compare_contents({"file": old}, {"file": new})
        return counted.additions, counted.deletions

    def _content(self, commit: str, path: str) -> bytes:
        try:
            return self.content(commit, path, max_bytes=MAX_BYTES)
        except GitObjectMissing:  # A submodule.
            return b""


@parses
def _complete_diffs(data: dict[str, Any]) -> list[dict[str, object]] | None:
    """Return the changed files of a comparison, or None if it is incomplete."""
    diffs: list[dict[str, object]] = data["diffs"]
    return None if data["compare_timeout"] else diffs


@parses
def _has_text(diff: dict[str, object]) -> bool:
    """Return whether the counts can be read from the text of a diff."""
    return bool(diff["diff"]) and not diff.get("too_large") and not diff.get("collapsed")


@parses
def _difference(diff: dict[str, Any], counts: tuple[int | None, int | None] | None) -> FileDifference:
    if _has_text(diff):
        counts = _counts_of(diff["diff"])
    previous = diff["old_path"] if diff["renamed_file"] else None
    status = (
        FileStatus.ADDED
        if diff["new_file"]
        else FileStatus.REMOVED
        if diff["deleted_file"]
        else FileStatus.RENAMED
        if previous
        else FileStatus.MODIFIED
    )
    path = diff["old_path"] if diff["deleted_file"] else diff["new_path"]
    return FileDifference(path, previous, status, *(counts or (None, None)))


def _joined(files: Iterable[FileDifference]) -> list[FileDifference]:
    """Join the removal and the addition of one path, which GitLab returns for a changed type."""
    by_path: dict[str, FileDifference] = {}
    for file in files:
        removed = by_path.get(file.path)
        if removed is not None:
            deletions, additions = removed.deletions, file.additions
            file = FileDifference(file.path, None, FileStatus.TYPE_CHANGED, additions, deletions)
        by_path[file.path] = file
    return list(by_path.values())


def _counts_of(text: str) -> tuple[int | None, int | None]:
    """Count the lines of the hunks of a diff. A binary file has none."""
    lines = text.split("\n")
    start = next((number for number, line in enumerate(lines) if line.startswith("@@ ")), None)
    if start is None:
        return None, None
    signs = [line[:1] for line in lines[start:]]
    return signs.count("+"), signs.count("-")
