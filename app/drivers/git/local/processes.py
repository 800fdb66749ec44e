"""Git processes that serve several requests, their pool, and the reading of objects with `git cat-file`.

Git ends at some damaged objects. Such an object counts as unreadable, and another process reads the remaining ones.
"""

import os
import select
import threading
import time
import weakref
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from pathlib import Path
from typing import NamedTuple, TypeVar

from app.concurrency.child_processes import ExitStatusUnknown
from app.core import outbound
from app.drivers.errors import UpstreamError
from app.drivers.git.errors import GitObjectMissing, RepositoryDamaged, TooLargeToRead
from app.drivers.git.local.commands import (
    DAMAGED,
    MAX_LOGGED_BYTES,
    READ_BYTES,
    anonymous_file,
    pipe,
    start,
    wait_readable,
    write_all,
)

# A repository in use needs three: two that read objects and one that moves branches.
MAX_IDLE = 24
IDLE_S = 120.0
T = TypeVar("T")
# Unanswered requests, so many that the pipe is never idle and so few that writing them (41 bytes each) cannot block.
WINDOW = 64
FATAL = 128
"""The exit code of git after an error."""


class ProcessEnded(UpstreamError):
    """The process ended before its response was complete."""

    def __init__(self) -> None:
        super().__init__("Git ended while its output was read")


class GitProcess:
    """One process and its unread output."""

    def __init__(self, directory: Path, arguments: tuple[str, ...], timeout_s: float) -> None:
        self._pipes = ExitStack()
        requests_end, requests = pipe(self._pipes)
        responses, responses_end = pipe(self._pipes)
        self._errors = self._pipes.enter_context(anonymous_file())
        with requests_end, responses_end:
            self._process = start(
                directory,
                *arguments,
                stdin=requests_end.fileno(),
                stdout=responses_end.fileno(),
                stderr=self._errors.fileno(),
            )
        self._input, self._output = requests.fileno(), responses.fileno()
        os.set_blocking(self._input, False)
        self._poller = select.poll()
        self._poller.register(self._output, select.POLLIN)
        self._timeout_s = timeout_s
        self._buffer = bytearray()
        self.is_closed = False

    def send(self, data: bytes) -> None:
        """Send a request. Raises ProcessEnded."""
        try:
            write_all(self._input, data)
        except BrokenPipeError as error:
            raise ProcessEnded from error

    def line(self) -> bytes:
        """Read a line without its line break."""
        while (cut := self._buffer.find(b"\n")) < 0:
            self._fill()
        line = bytes(self._buffer[:cut])
        del self._buffer[: cut + 1]
        return line

    def read(self, size: int) -> Iterator[bytes]:
        """Yield the next bytes in pieces."""
        remaining = size
        while remaining:
            if not self._buffer:
                self._fill()
            piece = bytes(self._buffer[:remaining])
            del self._buffer[: len(piece)]
            remaining -= len(piece)
            yield piece

    def is_idle(self) -> bool:
        """Return whether the process is running and has written neither unread output nor messages."""
        return self._process.is_running() and not self._buffer and not os.fstat(self._errors.fileno()).st_size

    def messages(self) -> bytes:
        """Return the start of what the process wrote to its standard error."""
        return os.pread(self._errors.fileno(), MAX_LOGGED_BYTES, 0)

    def wait(self) -> int | None:
        """Wait for the end of the process.

        Return its exit code as `ChildProcess.poll` does, or None if it is unknown.
        """
        try:
            return self._process.wait(self._timeout_s)
        except (TimeoutError, ExitStatusUnknown):
            return None

    def close(self) -> None:
        """End the process."""
        self.is_closed = True
        self._process.end()
        self._pipes.close()

    def discard(self) -> None:
        """End the process as `ChildProcess.discard` does."""
        self._process.discard()
        self._pipes.close()

    def _fill(self) -> None:
        wait_readable(self._poller, self._timeout_s)
        piece = os.read(self._output, READ_BYTES)
        if not piece:
            raise ProcessEnded
        self._buffer += piece


@dataclass(eq=False)
class _Idle:
    key: tuple[object, ...]
    process: GitProcess
    since_s: float = field(default_factory=time.monotonic)


class ProcessPool:
    """A pool of at most `MAX_IDLE` idle processes. A process ends two minutes after its last use."""

    def __init__(self, timeout_s: float) -> None:
        self._timeout_s = timeout_s
        self._lock = threading.Lock()
        self._idle: list[_Idle] = []
        self._pid = os.getpid()
        weakref.finalize(self, _discard_all, self._idle)

    def close(self) -> None:
        """End the idle processes."""
        _close_all(self._idle)

    @contextmanager
    def process(self, directory: Path, *arguments: str) -> Iterator[GitProcess]:
        """Provide a process. A process with unread responses is ended and not reused."""
        outbound.before_call("git")  # A process that is reused starts nothing, and each use waits.
        status = directory.stat()
        key = (arguments, directory, status.st_dev, status.st_ino)
        process = self._take(key) or GitProcess(directory, arguments, self._timeout_s)
        with ExitStack() as on_failure:
            on_failure.callback(process.close)
            yield process
            on_failure.pop_all()
        self._give_back(_Idle(key, process))

    def _take(self, key: tuple[object, ...]) -> GitProcess | None:
        with self._lock:
            self._forget_after_fork()
            position = next((n for n, idle in enumerate(self._idle) if idle.key == key), None)
            process = self._idle.pop(position).process if position is not None else None
        if process is None or process.is_idle():
            return process
        process.close()
        return None

    def _forget_after_fork(self) -> None:
        """Drop the pool in a forked process, because two processes must not read from one pipe."""
        if self._pid != os.getpid():
            self._pid = os.getpid()
            self._idle.clear()

    def _give_back(self, returned: _Idle) -> None:
        with self._lock:
            self._idle.append(returned)
            oldest_s = time.monotonic() - IDLE_S
            surplus = len(self._idle) - MAX_IDLE
            expired = [idle for n, idle in enumerate(self._idle) if n < surplus or idle.since_s < oldest_s]
            self._idle[:] = [idle for idle in self._idle if idle not in expired]
        _close_all(expired)


def _close_all(idle: list[_Idle]) -> None:
    while idle:
        idle.pop().process.close()


def _discard_all(idle: list[_Idle]) -> None:
    while idle:
        idle.pop().process.discard()


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

    def read(
        self, directory: Path, names: Iterable[str], *, max_bytes: int
    ) -> Iterator[tuple[ObjectHeader, bytes | None]]:
        """Yield each object with its content in the order of the names. Missing and unreadable objects are omitted.

        The content of an object above `max_bytes` is None. Git ends at it and does not send it.
        """
        for result in self._results(directory, "--batch", names, partial(_object, max_bytes)):
            if result is not None:
                yield result

    def one(self, directory: Path, name: str, *, max_bytes: int) -> tuple[ObjectHeader, bytes]:
        """Read one object. Raises GitObjectMissing if it is missing or unreadable, TooLargeToRead."""
        results = list(self.read(directory, [name], max_bytes=max_bytes))
        if not results:
            raise GitObjectMissing(f"There is no object {name} in the repository")
        header, content = results[0]
        if content is None:
            raise TooLargeToRead(max_bytes)
        return header, content

    def open(self, directory: Path, name: str, kind: str, *, max_bytes: int) -> Iterator[bytes]:
        """Yield one object of a type, which a tree names, in pieces. Raises RepositoryDamaged, TooLargeToRead."""
        with self._processes.process(directory, "cat-file", "--batch") as process:
            process.send(f"{name}\n".encode())
            try:
                header = _header(process)
                if header is not None and header.type == kind:
                    if header.size > max_bytes:
                        raise TooLargeToRead(max_bytes)
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
                        if process.is_closed:  # The object was too large.
                            break
                    else:
                        return
                    continue
                except ProcessEnded:
                    if process.wait() != FATAL:
                        raise
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


def _object(max_bytes: int, process: GitProcess) -> tuple[ObjectHeader, bytes | None] | None:
    """Read the next response. End the process instead if its content has more than `max_bytes`."""
    header = _header(process)
    if header is not None and header.size > max_bytes:
        process.close()
        return header, None
    return None if header is None else (header, b"".join(_content(process, header.size)))


def _content(process: GitProcess, size: int) -> Iterator[bytes]:
    """Yield the bytes after a header and consume the line break after them."""
    yield from process.read(size)
    process.line()
