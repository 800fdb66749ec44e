"""Work beside a generator that must not be silent: while it waits for the work it yields b"", a sign of life.

The work runs in a thread, which is a greenlet where the standard library is patched. Knows nothing of what is made.
"""

import threading
import time
from collections.abc import Callable, Generator
from queue import Empty, SimpleQueue
from typing import Generic, TypeVar

import structlog

T = TypeVar("T")
Blocks = Generator[bytes, None, None]


class Last(bytes):
    """A block after which none comes, which spares its reader asking."""


PULSE_S = 0.5
"""A wait yields about this often."""
BUFFERED_BLOCKS = 64
JOINED_BYTES = 64 * 1024
FULL_PAUSE_S = 0.02


def meanwhile(call: Callable[[], T]) -> Generator[bytes, None, T]:
    """What `call` gives; raises what it raises. Nothing of it goes on once this is closed: that waits for its end."""
    task = _Task(call)
    try:
        while not task.over.wait(PULSE_S):
            yield b""
    finally:
        task.over.wait()
    return task.outcome()


def beside(blocks: Blocks) -> Blocks:
    """Blocks whose making waits in places of its own: those that are ready together come as one.

    They are made ahead of their reader by a bounded number, and closed in the thread that makes them.
    """
    making = _Making(blocks)
    try:
        while (block := making.next()) is not None:
            yield block
    finally:
        making.left = True


def _thread(run: Callable[[], None]) -> None:
    told = structlog.contextvars.get_contextvars()

    def running() -> None:
        structlog.contextvars.bind_contextvars(**told)
        run()

    threading.Thread(target=running, name="beside", daemon=True).start()


class _Task(Generic[T]):
    """One call, and what came of it."""

    def __init__(self, call: Callable[[], T]) -> None:
        self._call, self.over = call, threading.Event()
        self._given: list[T] = []
        self._failure: BaseException | None = None
        _thread(self._run)

    def _run(self) -> None:
        try:
            self._given.append(self._call())
        except BaseException as failure:  # raised where it is waited for
            self._failure = failure
        finally:
            self.over.set()

    def outcome(self) -> T:
        if self._failure is not None:
            raise self._failure
        return self._given[0]


class _Left(Exception):
    """Nobody wants more."""


class _Making:
    """Blocks on their way from the thread that makes them."""

    def __init__(self, blocks: Blocks) -> None:
        self._blocks, self.left = blocks, False
        self._made: SimpleQueue[bytes | Exception | None] = SimpleQueue()
        self._ended: Exception | bool = False
        _thread(self._run)

    def next(self) -> bytes | None:
        """All that is ready; b"" where nothing was for a while, None after the last. Raises what the making raised."""
        parts: list[bytes] = []
        size = 0
        while not self._ended and size < JOINED_BYTES:
            try:
                made = self._made.get_nowait() if parts else self._made.get(timeout=PULSE_S)
            except Empty:
                return b"".join(parts)
            if isinstance(made, bytes):
                parts.append(made)
                size += len(made)
            else:
                self._ended = made or True
        if parts:
            return b"".join(parts)
        if isinstance(self._ended, Exception):
            raise self._ended
        return None

    def _run(self) -> None:
        end: Exception | None = None
        try:
            for block in self._blocks:
                self._hand_over(block)
        except _Left:
            pass
        except Exception as failure:
            end = failure
        finally:
            self._blocks.close()
            self._made.put(end)

    def _hand_over(self, block: bytes) -> None:
        while self._made.qsize() >= BUFFERED_BLOCKS and not self.left:
            time.sleep(FULL_PAUSE_S)
        if self.left:
            raise _Left
        self._made.put(block)
