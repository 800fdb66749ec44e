"""Comparison of two commits of a project: changed paths, or one changed file.

A file has lines and words, changed front matter, or the versions of a binary file.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import partial

from app.concurrency.bounded import run_with_concurrency
from app.content.data_text import is_data, read_data
from app.content.filetypes import file_type
from app.content.front_matter.item_diff import ValueChange, changed_values
from app.content.front_matter.reader import split_front_matter
from app.content.text import decode
from app.content.unified_diff import Hunk, parse_hunks
from app.core.cursors import decode_cursor, paginate
from app.core.errors import NotFound
from app.drivers.git.errors import TooLargeToRead
from app.drivers.git.file_diff import is_binary, unified_diff
from app.drivers.git.port import EntryType, TreeEntry
from app.drivers.git.revisions import FileDifference, FileStatus
from app.resources.project_content.source import Source, find_commit, revisions_of
from app.resources.project_content.versions.file_metadata import raw_url

MAX_DIFF_BYTES = 1024 * 1024
"""Larger files have no lines in a comparison."""

MAX_VERSION_BYTES = 128 * 1024
"""Larger versions of a file have no summary."""

MAX_PARALLEL_VERSIONS = 8
NO_DETAILS: dict[str, object] = {
    **dict.fromkeys(("binary", "before", "after", "diff", "front_matter")),
    "truncated": False,
    "ranges_truncated": False,
}
"""The fields of a file whose content is not compared."""
_CURSOR = "compare"


@dataclass(frozen=True)
class FileVersion:
    """One version of a compared file. `size` is in bytes, or None if the host does not report it."""

    path: str
    commit_sha: str
    sha: str
    mode: str
    size: int | None


@dataclass(frozen=True)
class FileComparison:
    """The contents of a changed file, and whether its name is that of an image.

    A version is None if the file does not exist at this commit.

    `diff` and `front_matter` are None for a binary file and for one that is too large (`truncated`). `front_matter`
    contains the values of a data file too, and is also None if those of a version cannot be read. `ranges_truncated`
    is True if the changed words of some lines are missing because of a limit.
    """

    before: FileVersion | None
    after: FileVersion | None
    binary: bool = False
    image: bool = False
    diff: Sequence[Hunk] | None = None
    front_matter: Sequence[ValueChange] | None = None
    truncated: bool = False
    ranges_truncated: bool = False

    def to_dict(self, project_id: str) -> dict[str, object]:
        """Return the response dictionary. The versions of an image have a URL."""
        return {
            "binary": self.binary,
            "before": self._version_to_dict(self.before, project_id),
            "after": self._version_to_dict(self.after, project_id),
            "diff": None if self.diff is None else [hunk.to_dict() for hunk in self.diff],
            "front_matter": (None if self.front_matter is None else [change.to_dict() for change in self.front_matter]),
            "truncated": self.truncated,
            "ranges_truncated": self.ranges_truncated,
        }

    def _version_to_dict(self, version: FileVersion | None, project_id: str) -> dict[str, object] | None:
        if version is None:
            return None
        url = raw_url(project_id, version.path, version.commit_sha) if self.image else None
        return asdict(version) | {"url": url}


def compare_file(source: Source, base: str, head: str, difference: FileDifference) -> FileComparison:
    """Compare the contents of a changed file. Reads both versions from the Git host."""
    old_path = None if difference.status == FileStatus.ADDED else difference.previous_path or difference.path
    new_path = None if difference.status == FileStatus.REMOVED else difference.path
    old, new = _entry(source, base, old_path), _entry(source, head, new_path)
    old_bytes, new_bytes = _read(source, old), _read(source, new)
    before, after = _version(old, base, old_bytes), _version(new, head, new_bytes)
    is_image = (file_type(difference.path).mime or "").startswith("image/")
    if old_bytes is None or new_bytes is None:
        # Git reports no counts for a binary file.
        return FileComparison(before, after, binary=difference.additions is None, image=is_image, truncated=True)
    if is_binary(old_bytes) or is_binary(new_bytes):
        return FileComparison(before, after, binary=True, image=is_image)
    lines = parse_hunks(unified_diff(old_bytes, new_bytes).decode(errors="replace"))
    return FileComparison(
        before,
        after,
        image=is_image,
        diff=lines.hunks,
        front_matter=_changed_values(
            (old_path or difference.path, old_bytes), (new_path or difference.path, new_bytes)
        ),
        truncated=lines.truncated,
        ranges_truncated=lines.ranges_truncated,
    )


def _entry(source: Source, commit: str, path: str | None) -> TreeEntry | None:
    return None if path is None else source.repository.entries(commit, [path]).get(path)


def read_versions(source: Source, versions: Sequence[tuple[str, str]]) -> list[bytes | None]:
    """Return the contents of paths at commits. None for a path that does not exist, is large or is not a file."""
    tasks = [partial(_entry, source, commit, path) for commit, path in versions]
    entries = run_with_concurrency(tasks, MAX_PARALLEL_VERSIONS)
    small = {
        entry.sha
        for entry in entries
        if entry is not None and entry.type == EntryType.BLOB and (entry.size or 0) <= MAX_VERSION_BYTES
    }
    # GitLab does not report the size of most entries.
    contents = dict(source.repository.blobs(small, max_bytes=MAX_VERSION_BYTES))
    return [contents.get(entry.sha) if entry is not None else None for entry in entries]


def _version(entry: TreeEntry | None, commit: str, content: bytes | None) -> FileVersion | None:
    if entry is None:
        return None
    size = entry.size if entry.size is not None or content is None else len(content)
    return FileVersion(entry.path, commit, entry.sha, entry.mode, size)


def _read(source: Source, entry: TreeEntry | None) -> bytes | None:
    """Return the content of a version: empty if it does not exist, None if it is too large."""
    if entry is None:
        return b""
    if entry.type == EntryType.COMMIT:
        return f"Subproject commit {entry.sha}\n".encode()
    try:
        return source.repository.blob(entry.sha, max_bytes=MAX_DIFF_BYTES)
    except TooLargeToRead:
        return None


def _changed_values(*versions: tuple[str, bytes]) -> list[ValueChange] | None:
    """Return the changed values of front matter or of a data file, or None if one of them cannot be read."""
    sides = []
    for path, content in versions:
        if is_data(path):
            values = read_data(path, content, has_notation=False)
            is_readable = values is not None
        else:
            front_matter = split_front_matter(decode(content)[0] or "")
            values, is_readable = front_matter.values, front_matter.problem is None
        if not is_readable:
            return None
        sides.append(values)
    return changed_values(*sides)


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

    @property
    def meta(self) -> dict[str, object]:
        """The position in the list."""
        return {"next_cursor": self.next_cursor, "total": self.total}

    def to_dict(self, project_id: str) -> dict[str, object]:
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
    differences = revisions_of(source).compare(base_sha, head_sha)
    remaining = [file for file in differences.files if file.path.encode() > after]
    page, following = paginate(remaining, limit, _CURSOR, lambda file: file.path)
    return CommitComparison(base_sha, head_sha, page, len(differences.files), differences.truncated, following)


def compare_path(source: Source, *, base: str, head: str | None, file: str) -> CommitComparison:
    """Compare one file of two branches or commits. `files` is empty if it is unchanged. Calls the Git host.

    `file` is the path at the head, or at the base if the file was removed or renamed.

    Raises:
        NotFound: the file exists at neither commit, and the conditions of `compare`.
    """
    base_sha, head_sha = find_commit(source, base), find_commit(source, head)
    differences = revisions_of(source).compare(base_sha, head_sha)
    difference = _find(differences.files, file)
    if difference is None:
        if not source.repository.entries(head_sha, [file]):
            raise NotFound("There is no such file at these commits")
        return CommitComparison(base_sha, head_sha, [], 0, truncated=False)
    details = compare_file(source, base_sha, head_sha, difference)
    return CommitComparison(base_sha, head_sha, [difference], 1, details.truncated, details=details)


def _difference_to_dict(file: FileDifference) -> dict[str, object]:
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
