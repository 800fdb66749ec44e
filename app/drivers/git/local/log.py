"""Commits read with `git log`."""

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from app.drivers.git.local.commands import fields, stream
from app.drivers.git.local.trees import utf8
from app.drivers.git.port import CommitInfo, Person

# A record starts with two empty fields. A newline, or an empty field for a merge, separates the message from the paths.
_FORMAT = "--format=%x00%x00%H%x00%P%x00%an%x00%ae%x00%at%x00%B"
FORMAT_OPTIONS = (
    *("log", "-z", _FORMAT, "--encoding=UTF-8", "--no-color", "--no-decorate", "--no-renames", "--no-mailmap"),
    *("--no-show-signature", "--no-notes"),
)
_FIELDS = 6
_LATEST = 253402300799  # the last second of the year 9999


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
        message=message.decode(errors="replace"),
        author=Person(name.decode(errors="replace"), email.decode(errors="replace")),
        date=datetime.fromtimestamp(min(int(date or 0), _LATEST), UTC),
        parent=parents.decode().partition(" ")[0] or None,
        paths=tuple(path for name in paths if (path := utf8(name.removeprefix(b"\n"))) is not None),
    )
