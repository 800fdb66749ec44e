"""A pool of `git cat-file` processes that read objects."""

import os
import select
import threading
import time
import weakref
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from app.drivers.errors import UpstreamError
from app.drivers.git.errors import GitObjectMissing
from app.drivers.git.local.commands import start
from app.drivers.git.local.pipes import READ_BYTES, pipe, wait_readable, write_all

MAX_IDLE = 16
IDLE_S = 120.0
# Unanswered requests, so many that the pipe is never idle and so few that writing them (41 bytes each) cannot block.
WINDOW = 64


class ObjectHeader(NamedTuple):
    """The sha, the type and the size of an object in bytes."""

    sha: str
    type: str
    size: int


class CatFile:
    """One process `git cat-file --batch` (or `--batch-check`) and its unread output."""

    def __init__(self, directory: Path, mode: str, timeout_s: float) -> None:
        self._pipes = ExitStack()
        requests_end, requests = pipe(self._pipes)
        responses, responses_end = pipe(self._pipes)
        with requests_end, responses_end, Path(os.devnull).open("wb") as errors:
            self._process = start(
                directory,
                "cat-file",
                mode,
                stdin=requests_end.fileno(),
                stdout=responses_end.fileno(),
                stderr=errors.fileno(),
            )
        self._input, self._output = requests.fileno(), responses.fileno()
        os.set_blocking(self._input, False)
        self._poller = select.poll()
        self._poller.register(self._output, select.POLLIN)
        self._timeout_s = timeout_s
        self._buffer = bytearray()

    def request(self, names: Iterable[str]) -> None:
        """Send requests. The responses arrive in the same order."""
        with _as_broken():
            write_all(self._input, "".join(f"{name}\n" for name in names).encode())

    def header(self) -> ObjectHeader | None:
        """Read the first line of the next response. Return None if the object does not exist."""
        while (cut := self._buffer.find(b"\n")) < 0:
            self._fill()
        line = self._buffer[:cut].decode(errors="replace")
        del self._buffer[: cut + 1]
        sha, _, remaining = line.partition(" ")
        kind, _, size = remaining.partition(" ")
        return ObjectHeader(sha, kind, int(size)) if size.isdigit() else None

    def content(self, size: int) -> Iterator[bytes]:
        """Yield the bytes after a header and consume the line break after them."""
        remaining = size
        while remaining:
            if not self._buffer:
                self._fill()
            piece = bytes(self._buffer[:remaining])
            del self._buffer[: len(piece)]
            remaining -= len(piece)
            yield piece
        if not self._buffer:
            self._fill()
        del self._buffer[:1]

    def alive(self) -> bool:
        """Return whether the process is running and has no unread output."""
        return self._process.is_running() and not self._buffer

    def close(self) -> None:
        """End the process."""
        self._process.end()
        self._pipes.close()

    def _fill(self) -> None:
        wait_readable(self._poller, self._timeout_s)
        piece = os.read(self._output, READ_BYTES)
        if not piece:
            raise UpstreamError("Git ended while its output was read")
        self._buffer += piece


@dataclass(eq=False)
class _Idle:
    key: tuple[object, ...]
    reader: CatFile
    since_s: float = field(default_factory=time.monotonic)


class CatFiles:
    """A pool of at most 16 idle processes. A process ends two minutes after its last use."""

    def __init__(self, timeout_s: float) -> None:
        self._timeout_s = timeout_s
        self._lock = threading.Lock()
        self._idle: list[_Idle] = []
        self._pid = os.getpid()
        weakref.finalize(self, _close_all, self._idle)

    def close(self) -> None:
        """End the idle processes."""
        _close_all(self._idle)

    def check(self, directory: Path, names: Iterable[str]) -> Iterator[ObjectHeader | None]:
        """Yield the header of each object, or None if it does not exist."""
        with self._reader(directory, "--batch-check") as reader:
            for _ in _pipelined(reader, names):
                yield reader.header()

    def read(self, directory: Path, names: Iterable[str]) -> Iterator[tuple[ObjectHeader, bytes]]:
        """Yield each object with its content in the order of the names. Raises GitObjectMissing."""
        with self._reader(directory, "--batch") as reader:
            for name in _pipelined(reader, names):
                header = _required(reader.header(), name)
                yield header, b"".join(reader.content(header.size))

    def one(self, directory: Path, name: str) -> tuple[ObjectHeader, bytes]:
        """Read one object. Raises GitObjectMissing."""
        [header] = self.read(directory, [name])
        return header

    def open(self, directory: Path, name: str, kind: str) -> Iterator[bytes]:
        """Yield one object of a type in pieces. Raises GitObjectMissing."""
        with self._reader(directory, "--batch") as reader:
            reader.request([name])
            header = _required(reader.header(), name)
            if header.type != kind:
                raise GitObjectMissing(f"There is no {kind} {name} in the repository")
            yield from reader.content(header.size)

    @contextmanager
    def _reader(self, directory: Path, mode: str) -> Iterator[CatFile]:
        """Provide a process. A process with unread responses is ended and not reused."""
        status = directory.stat()
        key = (mode, directory, status.st_dev, status.st_ino)
        reader = self._take(key) or CatFile(directory, mode, self._timeout_s)
        with ExitStack() as on_failure:
            on_failure.callback(reader.close)
            yield reader
            on_failure.pop_all()
        self._give_back(_Idle(key, reader))

    def _take(self, key: tuple[object, ...]) -> CatFile | None:
        with self._lock:
            self._forget_after_fork()
            position = next((n for n, idle in enumerate(self._idle) if idle.key == key), None)
            reader = self._idle.pop(position).reader if position is not None else None
        if reader is None or reader.alive():
            return reader
        reader.close()
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


def _pipelined(reader: CatFile, names: Iterable[str]) -> Iterator[str]:
    """Send names ahead of their responses. Yield each name when its response is the next to read."""
    waiting = iter(names)
    pending: deque[str] = deque()
    while True:
        if len(pending) <= WINDOW // 2 and (more := list(islice(waiting, WINDOW - len(pending)))):
            reader.request(more)
            pending.extend(more)
        if not pending:
            return
        yield pending.popleft()


def _required(header: ObjectHeader | None, name: str) -> ObjectHeader:
    if header is None:
        raise GitObjectMissing(f"There is no object {name} in the repository")
    return header


@contextmanager
def _as_broken() -> Iterator[None]:
    try:
        yield
    except BrokenPipeError as expired:
        raise UpstreamError("Git ended while its output was read") from expired


def _close_all(idle: list[_Idle]) -> None:
    while idle:
        idle.pop().reader.close()
