"""Reading of objects with `git cat-file`.

Git ends at some damaged objects. Such an object counts as unreadable, and another process reads the remaining ones.
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import NamedTuple, TypeVar

from app.drivers.git.errors import GitObjectMissing, RepositoryDamaged
from app.drivers.git.local.commands import DAMAGED
from app.drivers.git.local.processes import GitProcess, ProcessEnded, ProcessPool

T = TypeVar("T")
# Unanswered requests, so many that the pipe is never idle and so few that writing them (41 bytes each) cannot block.
WINDOW = 64
FATAL = 128
"""The exit code of git after an error."""


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
        """Yield the header of each object, or None if it is missing or unreadable."""
        return self._results(directory, "--batch-check", names, _header)

    def read(self, directory: Path, names: Iterable[str]) -> Iterator[tuple[ObjectHeader, bytes]]:
        """Yield each object with its content in the order of the names. Missing and unreadable objects are omitted."""
        for result in self._results(directory, "--batch", names, _object):
            if result is not None:
                yield result

    def one(self, directory: Path, name: str) -> tuple[ObjectHeader, bytes]:
        """Read one object. Raises GitObjectMissing if it is missing or unreadable."""
        results = list(self.read(directory, [name]))
        if not results:
            raise GitObjectMissing(f"There is no object {name} in the repository")
        return results[0]

    def open(self, directory: Path, name: str, kind: str) -> Iterator[bytes]:
        """Yield one object of a type, which a tree names, in pieces. Raises RepositoryDamaged."""
        with self._processes.process(directory, "cat-file", "--batch") as process:
            process.send(f"{name}\n".encode())
            try:
                header = _header(process)
                if header is not None and header.type == kind:
                    yield from _content(process, header.size)
            except ProcessEnded as error:
                if process.wait() != FATAL:
                    raise
                raise RepositoryDamaged(DAMAGED) from error
        if header is None or header.type != kind:
            raise RepositoryDamaged(DAMAGED)

    def _results(
        self, directory: Path, mode: str, names: Iterable[str], receive: Callable[[GitProcess], T | None]
    ) -> Iterator[T | None]:
        waiting, pending, failed = iter(names), deque[str](), ""
        while True:
            with self._processes.process(directory, "cat-file", mode) as process:
                try:
                    _request(process, pending)
                    for _ in _pipelined(process, waiting, pending):
                        result = receive(process)
                        pending.popleft()
                        yield result
                except ProcessEnded:
                    if process.wait() != FATAL:
                        raise
                else:
                    return
            # Git can end for another reason, so the second process decides.
            if pending[0] == failed:
                pending.popleft()
                yield None
            else:
                failed = pending[0]


def _pipelined(process: GitProcess, waiting: Iterator[str], pending: deque[str]) -> Iterator[None]:
    """Send names ahead of their responses. Yield when the response to the first pending name is the next to read."""
    while True:
        if len(pending) <= WINDOW // 2 and (more := list(islice(waiting, WINDOW - len(pending)))):
            pending.extend(more)
            _request(process, more)
        if not pending:
            return
        yield


def _request(process: GitProcess, names: Iterable[str]) -> None:
    """Send names. If git has ended, the reader of the responses notices it."""
    with suppress(ProcessEnded):
        process.send("".join(f"{name}\n" for name in names).encode())


def _header(process: GitProcess) -> ObjectHeader | None:
    """Read the first line of the next response. Return None if the object does not exist."""
    sha, _, remaining = process.line().decode(errors="replace").partition(" ")
    kind, _, size = remaining.partition(" ")
    return ObjectHeader(sha, kind, int(size)) if size.isdigit() else None


def _object(process: GitProcess) -> tuple[ObjectHeader, bytes] | None:
    header = _header(process)
    return None if header is None else (header, b"".join(_content(process, header.size)))


def _content(process: GitProcess, size: int) -> Iterator[bytes]:
    """Yield the bytes after a header and consume the line break after them."""
    yield from process.read(size)
    process.line()
