"""Logs, comparisons and reachability of commits, read with `git log`, `git diff-tree` and `git for-each-ref`."""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path

from app.core.paths import path_error
from app.core.refs import is_sha
from app.drivers.errors import UpstreamTimeout
from app.drivers.git.local.commands import fields, run, stream
from app.drivers.git.local.repositories import RepositoryFolder
from app.drivers.git.local.trees import utf8
from app.drivers.git.port import MAX_MESSAGE, CommitInfo, EntryType, Person
from app.drivers.git.revisions import (
    MAX_FILES,
    CommitLogEntry,
    Differences,
    FileDifference,
    FileStatus,
    Revisions,
    sort_differences,
)

# A record starts with two empty fields. A newline, or an empty field for a merge, separates the message from the paths.
_FORMAT = "--format=%x00%x00%H%x00%P%x00%an%x00%ae%x00%at%x00%B"
FORMAT_OPTIONS = (
    *("log", "-z", _FORMAT, "--encoding=UTF-8", "--no-color", "--no-decorate", "--no-renames", "--no-mailmap"),
    *("--no-show-signature", "--no-notes"),
)
_FIELDS = 6
_LATEST = 253402300799  # the last second of the year 9999
MAX_SEARCH_S = 5.0
"""The longest search of a history for a version of a file."""
# Git reads larger files as binary ones, by their size. It would need many times the memory of a text.
_MAX_COUNTED = "-c core.bigFileThreshold=5m"
_DIFF = f"{_MAX_COUNTED} diff-tree -r -z -M --raw --numstat --no-abbrev --no-ext-diff --no-textconv".split()
_STATUS = {"A": FileStatus.ADDED, "D": FileStatus.REMOVED, "R": FileStatus.RENAMED, "T": FileStatus.TYPE_CHANGED}


def read_history(directory: Path, new: str, since: str | None, *, timeout_s: float) -> Iterator[CommitInfo]:
    """Yield the commits from `new` back to `since` (exclusive) with their paths.

    The paths of a merge are those in which it differs from all its parents.
    """
    revisions = (new, f"^{since}") if since else (new,)
    yield from parse_log(
        stream(directory, *FORMAT_OPTIONS, "--topo-order", "-c", "--name-only", *revisions, "--", timeout_s=timeout_s)
    )


def read_last(directory: Path, commit: str, path: str, *, timeout_s: float) -> CommitInfo | None:
    """Return the newest commit up to `commit` that changed a path, without its paths."""
    info = list(parse_log(stream(directory, *FORMAT_OPTIONS, "-1", commit, "--", path, timeout_s=timeout_s)))
    return info[0] if info else None


def parse_log(pieces: Iterator[bytes]) -> Iterator[CommitInfo]:
    """Parse the output of `git log` with `FORMAT_OPTIONS`."""
    record: list[bytes] = []
    empty = 0
    for field in fields(pieces):
        if 0 < len(record) < _FIELDS:
            record.append(field)
        elif not field:
            empty += 1
        elif empty >= 2:
            if record:
                yield _commit(record)
            record, empty = [field], 0
        else:
            record.append(field)
            empty = 0
    if record:
        yield _commit(record)


def _commit(record: list[bytes]) -> CommitInfo:
    sha, parents, name, email, date, message, *paths = record
    return CommitInfo(
        sha=sha.decode(),
        message=message.decode(errors="replace")[:MAX_MESSAGE],
        author=Person(name.decode(errors="replace"), email.decode(errors="replace")),
        date=datetime.fromtimestamp(min(int(date or 0), _LATEST), UTC),
        parent=parents.decode().partition(" ")[0] or None,
        paths=tuple(path for name in paths if (path := utf8(name.removeprefix(b"\n"))) is not None),
    )


class LocalRevisions(RepositoryFolder, Revisions):
    """Logs, comparisons and reachability of commits."""

    @property
    def follows_renames(self) -> bool:
        """Return True: `git log --follow` follows renames."""
        return True

    def log(self, commit: str, *, path: str | None, skip: int, limit: int) -> Sequence[CommitLogEntry]:
        folder = self._folder()
        self._require_commits(folder, commit)
        if path is None:
            return read_log(folder, commit, skip=skip, limit=limit, timeout_s=self._timeout_s)
        return read_file_log(folder, commit, path, skip=skip, limit=limit, timeout_s=self._timeout_s)

    def compare(self, base: str, head: str) -> Differences:
        folder = self._folder()
        self._require_commits(folder, base, head)
        return read_differences(folder, base, head, timeout_s=self._timeout_s)

    def merge_base(self, first: str, second: str) -> str | None:
        folder = self._folder()
        self._require_commits(folder, first, second)
        done = run(folder, "merge-base", first, second, timeout_s=self._timeout_s, accepts=(0, 1))
        return done.stdout.decode().strip() or None

    def is_reachable(self, commit: str, *, branch: str) -> bool:
        folder = self._folder()
        if not self._are_commits(folder, commit):
            return False
        return self._find_head(folder, branch) == commit or is_in_a_branch(folder, commit, timeout_s=self._timeout_s)

    def has_version(self, commit: str, path: str, blob: str) -> bool:
        """Return whether a file had a content at a commit or an earlier one."""
        folder = self._folder()
        if path_error(path) or not is_sha(blob) or not self._are_commits(folder, commit):
            return False
        [header] = self._objects.check(folder, [blob])
        if header is None or header.type != EntryType.BLOB:
            return False
        try:
            return has_content(folder, commit, path, blob, timeout_s=min(self._timeout_s, MAX_SEARCH_S))
        except UpstreamTimeout:
            return False


def read_log(directory: Path, commit: str, *, skip: int, limit: int, timeout_s: float) -> list[CommitLogEntry]:
    """Return the commits up to an existing commit, newest first."""
    options = (f"--skip={skip}", f"--max-count={limit}")
    pieces = stream(directory, *FORMAT_OPTIONS, *options, commit, "--", timeout_s=timeout_s)
    return [CommitLogEntry(info, None) for info in parse_log(pieces)]


def read_file_log(
    directory: Path, commit: str, path: str, *, skip: int, limit: int, timeout_s: float
) -> list[CommitLogEntry]:
    """Return the commits that changed a file or an earlier path of it, newest first.

    `git log --follow --skip` also counts commits that did not change the file, so the first entries are read here.
    """
    options = ("--follow", "--name-only", f"--max-count={skip + limit}")
    pieces = stream(directory, *FORMAT_OPTIONS, *options, commit, "--", path, timeout_s=timeout_s)
    entries = (CommitLogEntry(info, info.paths[0] if info.paths else path) for info in parse_log(pieces))
    return list(islice(entries, skip, None))


def read_differences(directory: Path, base: str, head: str, *, timeout_s: float) -> Differences:
    """Compare the trees of two existing commits."""
    records = list(_files(stream(directory, *_DIFF, base, head, "--", timeout_s=timeout_s)))
    return Differences(sort_differences(records), truncated=len(records) > MAX_FILES)


def is_in_a_branch(directory: Path, commit: str, *, timeout_s: float) -> bool:
    """Return whether any branch contains an existing commit."""
    command = ("for-each-ref", "--count=1", "--format=%(refname)", f"--contains={commit}", "refs/heads/")
    return bool(run(directory, *command, timeout_s=timeout_s).stdout.strip())


def has_content(directory: Path, commit: str, path: str, blob: str, *, timeout_s: float) -> bool:
    """Return whether a file had an existing blob at an existing commit or an earlier one, also before it was renamed.

    `--full-history -m` also visits the versions of a merged branch that the merge did not take. `--follow` does not,
    and does not work with `--find-object`.
    """
    options = ("log", "--format=%H", "--root", "--no-color")
    search = ("--max-count=1", "--full-history", "-m", "--no-renames", f"--find-object={blob}")
    if run(directory, *options, *search, commit, "--", path, timeout_s=timeout_s).stdout.strip():
        return True
    pieces = stream(
        directory, *options, "--follow", "--raw", "--no-abbrev", "-z", commit, "--", path, timeout_s=timeout_s
    )
    return any(blob.encode() in record for record in fields(pieces))


def _files(pieces: Iterator[bytes]) -> Iterator[FileDifference]:
    """Parse the raw records, which come first, and the counts. Paths that are not valid UTF-8 are skipped."""
    statuses: dict[bytes, FileStatus] = {}
    records = fields(pieces)
    for record in records:
        if record.startswith(b":"):
            letter = record.rpartition(b" ")[2][:1].decode()
            name = next(records)
            statuses[next(records) if letter == "R" else name] = _STATUS.get(letter, FileStatus.MODIFIED)
            continue
        additions, deletions, name = record.split(b"\t", 2)
        previous = None if name else next(records)
        name = name or next(records)
        path, previous_path = utf8(name), utf8(previous) if previous is not None else None
        if path is not None and (previous is None or previous_path is not None):
            yield FileDifference(path, previous_path, statuses[name], _count(additions), _count(deletions))


def _count(text: bytes) -> int | None:
    return None if text == b"-" else int(text)
