"""Answers that are sent while they are made: server-sent events kept alive, bounded, and ended when the reader leaves.

Knows no upstream and no protocol of events. The events are made in the thread, or greenlet, that writes them out: a
second one beside it would cost more than the making. They must not use the request or its database session, both of
which are gone by then.
"""

import contextlib
import inspect
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import structlog
from flask import Response

from app.core.beside import Blocks, Last
from app.core.database import is_passing
from app.core.errors import AppError, NotAllowed, Unavailable, UpstreamLate
from app.core.metrics import STREAMS
from app.core.ticker import ticker
from app.drivers.errors import DriverError
from app.http.rights import still

log = structlog.get_logger(__name__)

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

    `blocks` yields framed events, those that belong together in one block, and b"" now and then while it waits: what
    cannot do that is wrapped in `app.core.beside.beside`. One that is `Last` goes out together with the end. `cancel`
    ends what it waits for. `failed` frames a failure for the reader, `end` stands last whatever happened. `allowed`
    tells whether the reader still may read; it may ask the database, on its own connection.
    """

    blocks: Blocks
    cancel: Callable[[], None]
    failed: Callable[[Exception], bytes]
    end: bytes = b""
    allowed: Callable[[], bool] | None = None


def sse_response(events: Events, *, timing: Timing | None = None, headers: Mapping[str, str] | None = None) -> Response:
    """Send the events as they come.

    A reader who leaves is noticed at the next write but one, so within a keep-alive period; `cancel` is called then.
    """
    # Passed through: Werkzeug would hold the response and look at each block, for as long as the stream lasts.
    response = Response(_Stream(events, timing or Timing()), content_type="text/event-stream", direct_passthrough=True)
    response.headers.update({"Cache-Control": "no-cache", "X-Accel-Buffering": "no", **(headers or {})})
    return response


def _note(error: Exception) -> None:
    """What others may do wrong, or a bug of ours."""
    if isinstance(error, (AppError, DriverError)) or is_passing(error):
        log.info("stream.failed", error=type(error).__name__)
    else:
        log.error("stream.broke", exc_info=error)


class _Stream:
    """The iterable a WSGI server writes out; `close` is called in any case."""

    def __init__(self, events: Events, timing: Timing) -> None:
        self._events, self._timing = events, timing
        self._said_s = now_s = time.monotonic()
        self._until = now_s + timing.total_s
        self._next_check = now_s + timing.check_s
        self._drain_until: float | None = None
        self._begun = self._over = self._half_said = self._is_written = False
        self._told = structlog.contextvars.get_contextvars()

    def __iter__(self) -> "_Stream":
        return self

    def __next__(self) -> bytes:
        if self._over:
            raise StopIteration
        self._is_written = False
        if not self._begun:
            self._begin()
        block = self._next_block()
        self._is_written = True
        return block

    def close(self) -> None:
        """The reader is gone or has everything."""
        if not self._over:
            self._over = True
            self._events.cancel()
        if not self._begun:
            # One that nobody began to read is begun as well, so that what it holds is given back.
            self._begin()
            with contextlib.suppress(Exception):
                next(self._events.blocks, None)
        if ticker.forget(self):
            STREAMS.dec()
        self._close_blocks()
        structlog.contextvars.unbind_contextvars(*self._told)

    def tick(self, now_s: float) -> None:
        """Give everything back when its time is over, while a reader who takes nothing holds up the one that writes."""
        if self._is_written and now_s >= self._until:
            self._is_written = False
            threading.Thread(target=self._give_up, name="stream", daemon=True).start()

    def _begin(self) -> None:
        self._begun = True
        structlog.contextvars.bind_contextvars(**self._told)
        STREAMS.inc()
        ticker.watch(self)

    def _next_block(self) -> bytes:
        now_s = self._said_s = time.monotonic()
        while True:
            failure = self._must_end(now_s)
            if failure is not None:
                return self._break_off(failure)
            try:
                block = next(self._events.blocks, None)
            except Exception as error:
                _note(error)
                return self._end(self._events.failed(error))
            if block is None:
                return self._end()
            if block:
                return self._end(block) if isinstance(block, Last) else self._whole(block)
            now_s = time.monotonic()
            comment = self._comment(now_s)
            if comment:
                return comment

    def _whole(self, block: bytes) -> bytes:
        """The block, after what is left of a comment."""
        if not self._half_said:
            return block
        self._half_said = False
        return b"\n\n" + block

    def _comment(self, now_s: float) -> bytes:
        """Half a keep-alive comment where one is due.

        The first write after a reader left succeeds; only a second one, a moment later, fails and tells.
        """
        if self._half_said:
            return self._whole(b"")
        self._half_said = now_s - self._said_s >= self._timing.keep_alive_s
        return b":" if self._half_said else b""

    def _end(self, block: bytes = b"") -> bytes:
        self._over = True
        return self._whole(block + self._events.end)

    def _must_end(self, now_s: float) -> Exception | None:
        if now_s >= self._until:
            return UpstreamLate("This took too long and was ended")
        if now_s >= self._next_check:
            self._next_check = now_s + self._timing.check_s
            if self._events.allowed is not None and not still(self._events.allowed):
                return NotAllowed()
        if draining():
            self._drain_until = self._drain_until or now_s + DRAIN_GRACE_S
            if now_s >= self._drain_until:
                return Unavailable("The service is being restarted; try again in a moment")
        return None

    def _break_off(self, failure: Exception) -> bytes:
        self._events.cancel()
        return self._end(self._events.failed(failure))

    def _give_up(self) -> None:
        self._events.cancel()
        self._close_blocks()

    def _close_blocks(self) -> None:
        try:
            self._events.blocks.close()
        except ValueError:  # another thread is at it
            if inspect.getgeneratorstate(self._events.blocks) != inspect.GEN_RUNNING:
                raise
