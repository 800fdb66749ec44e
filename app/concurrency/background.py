"""Generators that produce their blocks in a thread and yield b"" as a heartbeat while they wait.

The thread is a greenlet if the standard library is patched.
"""

import threading
import time
from collections.abc import Callable, Generator
from queue import Empty, SimpleQueue
from typing import Generic, TypeVar

import structlog

T = TypeVar("T")
Blocks = Generator[bytes, None, None]
HEARTBEAT_S = 0.5
"""The approximate interval of heartbeats during a wait."""
BUFFERED_BLOCKS = 64
JOINED_BYTES = 64 * 1024
FULL_PAUSE_S = 0.02


class FinalBlock(bytes):
    """The last block of a stream. Its reader does not read another one."""


def run_with_heartbeat(call: Callable[[], T]) -> Generator[bytes, None, T]:
    """Run `call` in a thread and return its result or raise its exception.

    Closing the generator waits for the call to end.
    """
    task = _Task(call)
    try:
        while not task.done.wait(HEARTBEAT_S):
            yield b""
    finally:
        task.done.wait()
    return task.outcome()


def prefetch(blocks: Blocks) -> Blocks:
    """Produce the blocks in a thread ahead of the reader. Blocks that are ready at the same time are joined.

    The number of blocks ahead of the reader is bounded. The thread that produces the blocks also closes their
    generator.
    """
    producer = _Producer(blocks)
    try:
        while (block := producer.next()) is not None:
            yield block
    finally:
        producer.is_stopped = True


def _start_thread(run: Callable[[], None]) -> None:
    context = structlog.contextvars.get_contextvars()

    def run_with_context() -> None:
        structlog.contextvars.bind_contextvars(**context)
        run()

    threading.Thread(target=run_with_context, name="background", daemon=True).start()


class _Task(Generic[T]):
    """A call in a thread and its outcome."""

    def __init__(self, call: Callable[[], T]) -> None:
        self._call, self.done = call, threading.Event()
        self._results: list[T] = []
        self._failure: BaseException | None = None
        _start_thread(self._run)

    def _run(self) -> None:
        try:
            self._results.append(self._call())
        except BaseException as failure:  # `outcome` raises it in the thread of the caller.
            self._failure = failure
        finally:
            self.done.set()

    def outcome(self) -> T:
        if self._failure is not None:
            raise self._failure
        return self._results[0]


class _ProducerStopped(Exception):
    """An exception that ends a producer whose consumer no longer reads."""


class _Producer:
    """A bounded queue of blocks and the thread that fills it."""

    def __init__(self, blocks: Blocks) -> None:
        self._blocks, self.is_stopped = blocks, False
        self._queue: SimpleQueue[bytes | Exception | None] = SimpleQueue()
        self._ended: Exception | bool = False
        _start_thread(self._run)

    def next(self) -> bytes | None:
        """Return all available blocks joined, b"" after a wait without a block, or None after the last block.

        An exception of the generator is raised here.
        """
        parts: list[bytes] = []
        size = 0
        while not self._ended and size < JOINED_BYTES:
            try:
                item = self._queue.get_nowait() if parts else self._queue.get(timeout=HEARTBEAT_S)
            except Empty:
                return b"".join(parts)
            if isinstance(item, bytes):
                parts.append(item)
                size += len(item)
            else:
                self._ended = item or True
        if parts:
            return b"".join(parts)
        if isinstance(self._ended, Exception):
            raise self._ended
        return None

    def _run(self) -> None:
        end: Exception | None = None
        try:
            for block in self._blocks:
                self._put(block)
        except _ProducerStopped:
            pass
        except Exception as failure:  # `next` raises it in the thread of the reader.
            end = failure
        finally:
            self._blocks.close()
            self._queue.put(end)

    def _put(self, block: bytes) -> None:
        while self._queue.qsize() >= BUFFERED_BLOCKS and not self.is_stopped:
            time.sleep(FULL_PAUSE_S)
        if self.is_stopped:
            raise _ProducerStopped
        self._queue.put(block)
