"""Reading of objects with `git cat-file`."""

from collections import deque
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from app.drivers.git.errors import GitObjectMissing
from app.drivers.git.local.processes import GitProcess, ProcessPool

# Unanswered requests, so many that the pipe is never idle and so few that writing them (41 bytes each) cannot block.
WINDOW = 64


class ObjectHeader(NamedTuple):
    """The sha, the type and the size of an object in bytes."""

    sha: str
    type: str
    size: int


class CatFiles:
    """The objects of repositories, read by the processes of a pool."""

    def __init__(self, processes: ProcessPool) -> None:
        self._processes = processes

    def check(self, directory: Path, names: Iterable[str]) -> Iterator[ObjectHeader | None]:
        """Yield the header of each object, or None if it does not exist."""
        with self._processes.process(directory, "cat-file", "--batch-check") as process:
            for _ in _pipelined(process, names):
                yield _header(process)

    def read(self, directory: Path, names: Iterable[str]) -> Iterator[tuple[ObjectHeader, bytes]]:
        """Yield each object with its content in the order of the names. Raises GitObjectMissing."""
        with self._processes.process(directory, "cat-file", "--batch") as process:
            for name in _pipelined(process, names):
                header = _required(_header(process), name)
                yield header, b"".join(_content(process, header.size))

    def one(self, directory: Path, name: str) -> tuple[ObjectHeader, bytes]:
        """Read one object. Raises GitObjectMissing."""
        [header] = self.read(directory, [name])
        return header

    def open(self, directory: Path, name: str, kind: str) -> Iterator[bytes]:
        """Yield one object of a type in pieces. Raises GitObjectMissing."""
        with self._processes.process(directory, "cat-file", "--batch") as process:
            _request(process, [name])
            header = _required(_header(process), name)
            if header.type != kind:
                raise GitObjectMissing(f"There is no {kind} {name} in the repository")
            yield from _content(process, header.size)


def _pipelined(process: GitProcess, names: Iterable[str]) -> Iterator[str]:
    """Send names ahead of their responses. Yield each name when its response is the next to read."""
    waiting = iter(names)
    pending: deque[str] = deque()
    while True:
        if len(pending) <= WINDOW // 2 and (more := list(islice(waiting, WINDOW - len(pending)))):
            _request(process, more)
            pending.extend(more)
        if not pending:
            return
        yield pending.popleft()


def _request(process: GitProcess, names: Iterable[str]) -> None:
    process.send("".join(f"{name}\n" for name in names).encode())


def _header(process: GitProcess) -> ObjectHeader | None:
    """Read the first line of the next response. Return None if the object does not exist."""
    sha, _, remaining = process.line().decode(errors="replace").partition(" ")
    kind, _, size = remaining.partition(" ")
    return ObjectHeader(sha, kind, int(size)) if size.isdigit() else None


def _content(process: GitProcess, size: int) -> Iterator[bytes]:
    """Yield the bytes after a header and consume the line break after them."""
    yield from process.read(size)
    process.line()


def _required(header: ObjectHeader | None, name: str) -> ObjectHeader:
    if header is None:
        raise GitObjectMissing(f"There is no object {name} in the repository")
    return header
