"""Comparison of two commits by the contents of the files that differ, if the host cannot compare them."""

from collections.abc import Iterator, Mapping

from app.concurrency.bounded import map_in_order
from app.drivers.git.errors import TooLargeToRead
from app.drivers.git.file_diff import compare_contents, is_binary
from app.drivers.git.port import EntryType, Repository, TreeEntry
from app.drivers.git.revisions import (
    MAX_FILES,
    Differences,
    FileDifference,
    FileStatus,
    has_other_type,
    sort_differences,
)

MAX_COMPARED = 100
"""With more changed files, a comparison has no counts and no renames."""
MAX_BYTES = 1024 * 1024
"""A larger file has no counts and is never renamed."""

_Pair = tuple[TreeEntry | None, TreeEntry | None]


def compare_trees(repository: Repository, base: str, head: str) -> Differences:
    """Compare two commits directly. Raises GitObjectMissing for an unknown commit."""
    new = {change.path: change.entry for change in repository.changes(base, head)}
    old = repository.entries(base, sorted(new))
    pairs: dict[str, _Pair] = {path: (_file(old.get(path)), entry) for path, entry in new.items()}
    if len(pairs) > MAX_COMPARED:
        files = [_with_type(_without_counts(path, pair), pair) for path, pair in pairs.items()]
        return Differences(sort_differences(files), truncated=True)
    contents = _read(repository, pairs)
    unread = {sha for sha, content in contents.items() if content is None}
    readable = {p: pair for p, pair in pairs.items() if not any(e is not None and e.sha in unread for e in pair)}
    files = [_without_counts(path, pair) for path, pair in pairs.items() if path not in readable]
    sides = [
        {path: contents[entry.sha] or b"" for path, pair in readable.items() if (entry := pair[side]) is not None}
        for side in (0, 1)
    ]
    files += [*_same_bytes(readable, contents), *compare_contents(*sides)]
    files = [_with_type(file, pairs[file.path]) if file.path in pairs else file for file in files]
    return Differences(sort_differences(files), truncated=len(files) > MAX_FILES or len(readable) < len(pairs))


def _file(entry: TreeEntry | None) -> TreeEntry | None:
    return None if entry is None or entry.type == "tree" else entry


def _read(repository: Repository, pairs: Mapping[str, _Pair]) -> dict[str, bytes | None]:
    """Return the contents of all versions by sha. The content is None for a large file."""
    entries = {entry.sha: entry for pair in pairs.values() for entry in pair if entry is not None}

    def read(entry: TreeEntry) -> tuple[str, bytes | None]:
        if entry.type == EntryType.COMMIT:
            return entry.sha, f"Subproject commit {entry.sha}\n".encode()
        try:
            return entry.sha, repository.blob(entry.sha, max_bytes=MAX_BYTES)
        except TooLargeToRead:
            return entry.sha, None

    return dict(map_in_order(read, entries.values()))


def _same_bytes(pairs: Mapping[str, _Pair], contents: Mapping[str, bytes | None]) -> Iterator[FileDifference]:
    """Yield the files of which only the mode differs."""
    for path, (old, new) in pairs.items():
        if old is not None and new is not None and old.sha == new.sha:
            count = None if is_binary(contents[new.sha] or b"") else 0
            yield FileDifference(path, None, FileStatus.MODIFIED, count, count)


def _with_type(file: FileDifference, pair: _Pair) -> FileDifference:
    """Return the difference with the status of a changed type, if the types of both versions differ."""
    old, new = pair
    if file.status != FileStatus.MODIFIED or old is None or new is None or not has_other_type(old.mode, new.mode):
        return file
    return file._replace(status=FileStatus.TYPE_CHANGED)


def _without_counts(path: str, pair: _Pair) -> FileDifference:
    old, new = pair
    status = FileStatus.ADDED if old is None else FileStatus.REMOVED if new is None else FileStatus.MODIFIED
    return FileDifference(path, None, status, None, None)
