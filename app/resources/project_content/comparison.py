"""Comparison of two commits of a project: changed paths, or one changed file with its lines."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from app.core.cursors import decode_cursor, encode_cursor
from app.core.errors import NotFound
from app.drivers.git.revisions import FileDifference
from app.resources.project_content.commit_refs import find_commit, revisions_of
from app.resources.project_content.file_comparison import FileComparison, compare_file
from app.resources.project_content.source import Source

NO_DETAILS: dict[str, Any] = {
    **dict.fromkeys(("binary", "before", "after", "diff", "front_matter")),
    "truncated": False,
    "ranges_truncated": False,
}
"""The fields of a file whose content is not compared."""

_CURSOR = "compare"


@dataclass(frozen=True)
class CommitComparison:
    """A page of the paths that differ between two commits.

    `files` are sorted by path, and `total` counts all of them. `details` is the content of the file if one file is
    compared. `truncated` is True if paths, counts or lines are missing because of a limit.
    """

    base_sha: str
    head_sha: str
    files: Sequence[FileDifference]
    total: int
    truncated: bool
    next_cursor: str | None = None
    details: FileComparison | None = None

    def to_dict(self, project_id: str) -> dict[str, Any]:
        """Return the response dictionary."""
        details = NO_DETAILS if self.details is None else self.details.to_dict(project_id)
        files = [_difference_to_dict(file) | details for file in self.files]
        return {
            "base_sha": self.base_sha,
            "head_sha": self.head_sha,
            "files": files,
            "truncated": self.truncated,
        }


def compare(
    source: Source, *, base: str, head: str | None, cursor: str | None = None, limit: int = 50
) -> CommitComparison:
    """Compare two branches or commits directly, without their common ancestor. Calls the Git host.

    A head of None is the branch of the source.

    Raises:
        NotFound: a branch does not exist, or no branch contains a commit.
        InvalidRequest: the cursor is invalid.
    """
    after = decode_cursor(cursor, _CURSOR).encode() if cursor else b""
    base_sha, head_sha = find_commit(source, base), find_commit(source, head)
    differences = revisions_of(source).compare(source.repo, base_sha, head_sha)
    remaining = [file for file in differences.files if file.path.encode() > after]
    page = remaining[:limit]
    following = encode_cursor(_CURSOR, page[-1].path) if len(remaining) > limit else None
    return CommitComparison(base_sha, head_sha, page, len(differences.files), differences.truncated, following)


def compare_one(source: Source, *, base: str, head: str | None, file: str) -> CommitComparison:
    """Compare one file of two branches or commits. `files` is empty if it is unchanged. Calls the Git host.

    `file` is the path at the head, or at the base if the file was removed or renamed.

    Raises:
        NotFound: the file exists at neither commit, and the conditions of `compare`.
    """
    base_sha, head_sha = find_commit(source, base), find_commit(source, head)
    differences = revisions_of(source).compare(source.repo, base_sha, head_sha)
    difference = _find(differences.files, file)
    if difference is None:
        if not source.git.entries(source.repo, head_sha, [file]):
            raise NotFound("There is no such file at these commits")
        return CommitComparison(base_sha, head_sha, [], 0, truncated=False)
    details = compare_file(source, base_sha, head_sha, difference)
    return CommitComparison(base_sha, head_sha, [difference], 1, details.truncated, details=details)


def _difference_to_dict(file: FileDifference) -> dict[str, Any]:
    return {
        "path": file.path,
        "previous_path": file.previous_path,
        "status": str(file.status),
        "additions": file.additions,
        "deletions": file.deletions,
    }


def _find(files: tuple[FileDifference, ...], path: str) -> FileDifference | None:
    by_path = next((file for file in files if file.path == path), None)
    return by_path or next((file for file in files if file.previous_path == path), None)
