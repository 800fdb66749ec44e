"""Answers that are sent while they are made: server-sent events kept alive, bounded, and ended when the reader leaves.

Knows no upstream and no protocol of events. What makes the events runs beside the request, in a greenlet where the
standard library is patched; it must not use the request or its database session, both of which are gone by then.
"""

import threading
import time
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass
from queue import Empty, SimpleQueue

import structlog
from flask import Response

from app.core.errors import NotAllowed, Unavailable, UpstreamLate
from app.core.metrics import STREAMS
from app.core.ticker import ticker

log = structlog.get_logger(__name__)

BUFFERED_BLOCKS = 64
JOINED_BYTES = 64 * 1024
FULL_PAUSE_S = 0.02
SECOND_LOOK_S = 0.2
DRAIN_GRACE_S = 10

draining: Callable[[], bool] = lambda: False  # noqa: E731 (set by the server, which alone knows that it is ending)


@dataclass(frozen=True)
class Timing:
    """When a stream says that it is alive, how often rights are looked at again, and how long it may last."""

    keep_alive_s: float = 10
    check_s: float = 10
    total_s: float = 120


@dataclass(frozen=True)
class Events:
    """A stream to be.

    `blocks` yields framed events, those that belong together in one block, and may wait; it is closed in the thread
    that ran it. `cancel` ends such a wait from outside. `failed` frames a failure for the reader, `end` stands last
    whatever happened. `allowed` tells whether the reader still may read; it may ask the database, on its own connection.
    """

    blocks: Generator[bytes, None, None]
    cancel: Callable[[], None]
    failed: Callable[[Exception], bytes]
    end: bytes = b""
    allowed: Callable[[], bool] | None = None


def sse_response(events: Events, *, timing: Timing | None = None, headers: Mapping[str, str] | None = None) -> Response:
    """Send the events as they come.

    A reader who leaves is noticed at the next write but one, so within a keep-alive period; `cancel` is called then.
    """
    response = Response(_Stream(events, timing or Timing()), content_type="text/event-stream")
    response.headers.update({"Cache-Control": "no-cache", "X-Accel-Buffering": "no", **(headers or {})})
    return response


_WAKE = bytes(bytearray(b"wake"))  # told apart by what it is, not by what it says


class _Left(Exception):
    """Nobody reads any more."""


class _Stream:
    """The iterable a WSGI server writes out; `close` is called in any case."""

    def __init__(self, events: Events, timing: Timing) -> None:
        self._events, self._timing = events, timing
        self._blocks: SimpleQueue[bytes | None] = SimpleQueue()
        self._waiting_since: float | None = None
        self._until = time.monotonic() + timing.total_s
        self._next_check = time.monotonic() + timing.check_s
        self._drain_until: float | None = None
        self._started = self._left = self._over = self._half_said = False
        self._told = structlog.contextvars.get_contextvars()

    def __iter__(self) -> "_Stream":
        return self

    def __next__(self) -> bytes:
        if self._over:
            raise StopIteration
        self._start()
        failure = self._must_end()
        if failure is not None:
            return self._break_off(failure)
        return self._finish_comment() if self._half_said else self._next_block()

    def close(self) -> None:
        """The reader is gone or has everything."""
        if not self._over:
            self._left = True
            self._events.cancel()
        ticker.forget(self)
        # One that nobody began to read is run as well, so that what it holds is given back.
        self._start()
        self._over = True

    def _start(self) -> None:
        if not self._started:
            self._started = True
            if not self._over and not self._left:
                ticker.watch(self)
            threading.Thread(target=self._pump, name="stream", daemon=True).start()

    def tick(self, now_s: float) -> None:
        """Wake a reader's wait that is to end for now: with a comment, or for good."""
        since = self._waiting_since
        if since is None:
            return
        draining_ends = draining() and (self._drain_until is None or now_s >= self._drain_until)
        if draining_ends or now_s - since >= self._timing.keep_alive_s or now_s >= min(self._until, self._next_check):
            self._waiting_since = None
            self._blocks.put(_WAKE)

    def _next_block(self) -> bytes:
        self._waiting_since = time.monotonic()
        block = self._blocks.get()
        self._waiting_since = None
        if block is not _WAKE:
            return self._joined(block)
        failure = self._must_end()
        if failure is not None:
            return self._break_off(failure)
        self._half_said = True
        return b":"

    def _finish_comment(self) -> bytes:
        """The other half of a keep-alive comment.

        The first write after a reader left succeeds; only a second one, a moment later, fails and tells.
        """
        self._half_said = False
        try:
            return b"\n\n" + self._joined(self._blocks.get(timeout=SECOND_LOOK_S))
        except Empty:
            return b"\n\n"

    def _joined(self, block: bytes | None) -> bytes:
        """This block and all others that are ready, as one write."""
        parts: list[bytes] = []
        size = 0
        while block is not None:
            if block is not _WAKE:
                parts.append(block)
                size += len(block)
            if size > JOINED_BYTES:
                return b"".join(parts)
            try:
                block = self._blocks.get_nowait()
            except Empty:
                return b"".join(parts)
        self._over = True
        return b"".join([*parts, self._events.end])

    def _must_end(self) -> Exception | None:
        now = time.monotonic()
        if now >= self._until:
            return UpstreamLate("This took too long and was ended")
        if now >= self._next_check:
            self._next_check = now + self._timing.check_s
            if self._events.allowed is not None and not self._events.allowed():
                return NotAllowed()
        if draining():
            self._drain_until = self._drain_until or now + DRAIN_GRACE_S
            if now >= self._drain_until:
                return Unavailable("The service is being restarted; try again in a moment")
        return None

    def _break_off(self, failure: Exception) -> bytes:
        opening = b"\n\n" if self._half_said else b""
        self._over = self._left = True
        self._events.cancel()
        return opening + self._events.failed(failure) + self._events.end

    def _pump(self) -> None:
        """Fetch the blocks; the thread of whoever writes them out never waits for an upstream."""
        structlog.contextvars.bind_contextvars(**self._told)
        STREAMS.inc()
        try:
            for block in self._events.blocks:
                self._put(block)
        except _Left:
            pass
        except Exception as error:
            if not self._left:
                log.info("stream.failed", error=type(error).__name__)
                self._blocks.put(self._events.failed(error))
        finally:
            STREAMS.dec()
            self._events.blocks.close()
            self._blocks.put(None)

    def _put(self, block: bytes) -> None:
        """Hand a block over; a slow reader slows the upstream down, and is given up in the end."""
        while self._blocks.qsize() >= BUFFERED_BLOCKS and not self._left:
            if time.monotonic() > self._until:
                raise UpstreamLate("This took too long and was ended")
            time.sleep(FULL_PAUSE_S)
        if self._left:
            raise _Left
        self._blocks.put(block)
