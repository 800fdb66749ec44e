"""Reading objects through a pool of `git cat-file` processes; knows objects, not what is in them."""

import os
import select
import threading
import time
import weakref
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from app.drivers.errors import Broken
from app.drivers.git.local_commands import READ_BYTES, end, start, wait_readable
from app.drivers.git.port import ObjectNotFound

IDLE_AT_MOST = 16
IDLE_S = 120.0
# Unanswered requests, so many that the pipe is never idle and so few that writing them (41 bytes each) cannot block.
WINDOW = 64


class Found(NamedTuple):
    """An object's full name, its type and its size in bytes."""

    sha: str
    type: str
    size: int


class CatFile:
    """One `git cat-file --batch` (or `--batch-check`) and what it has said so far."""

    def __init__(self, directory: Path, mode: str, timeout_s: float) -> None:
        self._process = start(directory, "cat-file", mode)
        if self._process.stdin is None or self._process.stdout is None or self._process.stderr is None:
            raise ValueError("the process has no pipes")
        self._process.stderr.close()
        self._input, self._output = self._process.stdin.fileno(), self._process.stdout.fileno()
        self._poller = select.poll()
        self._poller.register(self._output, select.POLLIN)
        self._timeout_s = timeout_s
        self._buffer = bytearray()

    def ask(self, names: Iterable[str]) -> None:
        """Send requests; the answers come in the same order."""
        with _as_broken():
            os.write(self._input, "".join(f"{name}\n" for name in names).encode())

    def header(self) -> Found | None:
        """The next answer's first line; None when there is no such object."""
        while (cut := self._buffer.find(b"\n")) < 0:
            self._fill()
        line = self._buffer[:cut].decode(errors="replace")
        del self._buffer[: cut + 1]
        sha, _, rest = line.partition(" ")
        kind, _, size = rest.partition(" ")
        return Found(sha, kind, int(size)) if size.isdigit() else None

    def content(self, size: int) -> Iterator[bytes]:
        """Yield the bytes that follow a header, and take the line end behind them."""
        left = size
        while left:
            if not self._buffer:
                self._fill()
            piece = bytes(self._buffer[:left])
            del self._buffer[: len(piece)]
            left -= len(piece)
            yield piece
        if not self._buffer:
            self._fill()
        del self._buffer[:1]

    def alive(self) -> bool:
        """Whether the process is still there and has said nothing unasked for."""
        return self._process.poll() is None and not self._buffer

    def close(self) -> None:
        """End the process."""
        end(self._process)

    def _fill(self) -> None:
        wait_readable(self._poller, self._timeout_s)
        piece = os.read(self._output, READ_BYTES)
        if not piece:
            raise Broken("Git stopped while it was read from")
        self._buffer += piece


@dataclass(eq=False)
class _Idle:
    key: tuple[object, ...]
    reader: CatFile
    since_s: float = field(default_factory=time.monotonic)


class CatFiles:
    """Processes kept for the next reader: at most 16 waiting, none longer than two minutes after the last use."""

    def __init__(self, timeout_s: float) -> None:
        self._timeout_s = timeout_s
        self._lock = threading.Lock()
        self._idle: list[_Idle] = []
        self._pid = os.getpid()
        weakref.finalize(self, _close_all, self._idle)

    def close(self) -> None:
        """End the processes that wait."""
        _close_all(self._idle)

    def check(self, directory: Path, names: Iterable[str]) -> Iterator[Found | None]:
        """Yield type and size of each named object, None for one that is not there."""
        with self._reader(directory, "--batch-check") as reader:
            for _ in _asked(reader, names):
                yield reader.header()

    def read(self, directory: Path, names: Iterable[str]) -> Iterator[tuple[Found, bytes]]:
        """Yield each named object whole, in the order asked for. Raises ObjectNotFound."""
        with self._reader(directory, "--batch") as reader:
            for name in _asked(reader, names):
                found = _required(reader.header(), name)
                yield found, b"".join(reader.content(found.size))

    def one(self, directory: Path, name: str) -> tuple[Found, bytes]:
        """One object whole. Raises ObjectNotFound."""
        [found] = self.read(directory, [name])
        return found

    def open(self, directory: Path, name: str, kind: str) -> Iterator[bytes]:
        """Yield one object of that type in pieces, however large it is. Raises ObjectNotFound."""
        with self._reader(directory, "--batch") as reader:
            reader.ask([name])
            found = _required(reader.header(), name)
            if found.type != kind:
                raise ObjectNotFound(f"There is no {kind} {name} in the repository")
            yield from reader.content(found.size)

    @contextmanager
    def _reader(self, directory: Path, mode: str) -> Iterator[CatFile]:
        """Lend a process; one whose answers were not all taken is ended, never lent again."""
        status = directory.stat()
        key = (mode, directory, status.st_dev, status.st_ino)
        reader = self._take(key) or CatFile(directory, mode, self._timeout_s)
        try:
            yield reader
        except BaseException:
            reader.close()
            raise
        self._give_back(_Idle(key, reader))

    def _take(self, key: tuple[object, ...]) -> CatFile | None:
        with self._lock:
            self._forget_after_fork()
            place = next((n for n, idle in enumerate(self._idle) if idle.key == key), None)
            reader = self._idle.pop(place).reader if place is not None else None
        if reader is None or reader.alive():
            return reader
        reader.close()
        return None

    def _forget_after_fork(self) -> None:
        """Two processes must not read from one pipe; the parent keeps it."""
        if self._pid != os.getpid():
            self._pid = os.getpid()
            self._idle.clear()

    def _give_back(self, returned: _Idle) -> None:
        with self._lock:
            self._idle.append(returned)
            oldest_s = time.monotonic() - IDLE_S
            surplus = len(self._idle) - IDLE_AT_MOST
            gone = [idle for n, idle in enumerate(self._idle) if n < surplus or idle.since_s < oldest_s]
            self._idle[:] = [idle for idle in self._idle if idle not in gone]
        _close_all(gone)


def _asked(reader: CatFile, names: Iterable[str]) -> Iterator[str]:
    """Send the names ahead of their answers; yields each when its answer is next to be read."""
    waiting = iter(names)
    pending: deque[str] = deque()
    while True:
        if len(pending) <= WINDOW // 2 and (more := list(islice(waiting, WINDOW - len(pending)))):
            reader.ask(more)
            pending.extend(more)
        if not pending:
            return
        yield pending.popleft()


def _required(found: Found | None, name: str) -> Found:
    if found is None:
        raise ObjectNotFound(f"There is no object {name} in the repository")
    return found


@contextmanager
def _as_broken() -> Iterator[None]:
    try:
        yield
    except BrokenPipeError as gone:
        raise Broken("Git stopped while it was read from") from gone


def _close_all(idle: list[_Idle]) -> None:
    while idle:
        idle.pop().reader.close()
