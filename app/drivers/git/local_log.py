"""Reading commits with `git log`; knows the format it asks for, and no trees."""

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from app.drivers.git.local_commands import fields, stream
from app.drivers.git.local_trees import utf8
from app.drivers.git.port import CommitInfo, Person

# A record begins with two empty fields; between its message and its paths stands a newline, or in a merge one empty field.
_FORMAT = "--format=%x00%x00%H%x00%P%x00%an%x00%ae%x00%at%x00%B"
_LOG = (
    *("log", "-z", _FORMAT, "--encoding=UTF-8", "--no-color", "--no-decorate", "--no-renames", "--no-mailmap"),
    *("--no-show-signature", "--no-notes"),
)
_FIELDS = 6
_LATEST = 253402300799  # the last second of the year 9999


def read_history(directory: Path, new: str, since: str | None, *, timeout_s: float) -> Iterator[CommitInfo]:
    """Stream the commits from `new` back to, without, `since`, with their paths.

    A merge is given the paths in which it differs from all its parents: what it changed itself.
    """
    revisions = (new, f"^{since}") if since else (new,)
    yield from _parse(
        stream(directory, *_LOG, "--topo-order", "-c", "--name-only", *revisions, "--", timeout_s=timeout_s)
    )


def read_last(directory: Path, commit: str, path: str, *, timeout_s: float) -> CommitInfo | None:
    """The newest commit at or before `commit` that changed a path, without its paths."""
    found = list(_parse(stream(directory, *_LOG, "-1", commit, "--", path, timeout_s=timeout_s)))
    return found[0] if found else None


def _parse(pieces: Iterator[bytes]) -> Iterator[CommitInfo]:
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
