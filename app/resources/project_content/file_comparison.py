"""Comparison of the contents of one file at two commits: lines, words, front matter, or versions of a binary file."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from app.content.filetypes import file_type
from app.content.front_matter.reader import split_front_matter
from app.content.front_matter.value_diff import ValueChange, changed_values
from app.content.text import decode
from app.content.unified_diff import Hunk, parse_hunks
from app.drivers.git.errors import TooLargeToRead
from app.drivers.git.file_diff import is_binary, unified_diff
from app.drivers.git.port import EntryType, TreeEntry
from app.drivers.git.revisions import FileDifference, FileStatus
from app.resources.project_content.raw_file import raw_url
from app.resources.project_content.source import Source

MAX_DIFF_BYTES = 1024 * 1024
"""Larger files have no lines in a comparison."""


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
    """The contents of a changed file, and whether its name is that of an image. A version is None if the file does not exist at this commit.

    `diff` and `front_matter` are None for a binary file and for one that is too large (`truncated`). `front_matter` is
    also None if the front matter of a version cannot be read. `ranges_truncated` is True if the changed words of some
    lines are missing because of a limit.
    """

    before: FileVersion | None
    after: FileVersion | None
    binary: bool = False
    image: bool = False
    diff: Sequence[Hunk] | None = None
    front_matter: Sequence[ValueChange] | None = None
    truncated: bool = False
    ranges_truncated: bool = False

    def to_dict(self, project_id: str) -> dict[str, Any]:
        """Return the response dictionary. The versions of an image have a URL."""
        return {
            "binary": self.binary,
            "before": self._version_to_dict(self.before, project_id),
            "after": self._version_to_dict(self.after, project_id),
            "diff": None if self.diff is None else [hunk.to_dict() for hunk in self.diff],
            "front_matter": (None if self.front_matter is None else [change._asdict() for change in self.front_matter]),
            "truncated": self.truncated,
            "ranges_truncated": self.ranges_truncated,
        }

    def _version_to_dict(self, version: FileVersion | None, project_id: str) -> dict[str, Any] | None:
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
        front_matter=_front_matter(old_bytes, new_bytes),
        truncated=lines.truncated,
        ranges_truncated=lines.ranges_truncated,
    )


def _entry(source: Source, commit: str, path: str | None) -> TreeEntry | None:
    return None if path is None else source.git.entries(source.repo, commit, [path]).get(path)


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
    if (entry.size or 0) > MAX_DIFF_BYTES:
        return None
    try:
        content = source.git.blob(source.repo, entry.sha)
    except TooLargeToRead:
        return None
    return content if len(content) <= MAX_DIFF_BYTES else None


def _front_matter(old: bytes, new: bytes) -> list[ValueChange] | None:
    values = []
    for content in (old, new):
        front_matter = split_front_matter(decode(content)[0] or "")
        if front_matter.problem is not None:
            return None
        values.append(front_matter.values)
    return changed_values(*values)
