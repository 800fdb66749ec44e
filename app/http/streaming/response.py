"""Streaming responses: server-sent events with keep-alive comments, a deadline and a check of the reader's permission.

The module does not depend on an upstream or an event format. The events are created in the thread or greenlet that
writes them; a second thread would cost more than their creation. The generator must not use the request or its database
session, because both have ended.
"""

import contextlib
import inspect
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import orjson
import structlog
from flask import Response

from app.access.guards import is_permitted
from app.concurrency.background import Blocks, FinalBlock
from app.concurrency.timer import ticker
from app.core.errors import AppError, GatewayTimeout, PermissionDenied, ServiceUnavailable
from app.database.errors import is_transient
from app.drivers.errors import DriverError
from app.http.error_handlers import to_app_error
from app.observability.metrics import STREAMS

log = structlog.get_logger(__name__)


def sse_event(data: dict[str, object]) -> bytes:
    """Return one framed event."""
    return b"data: " + orjson.dumps(data) + b"\n\n"


def failure(error: Exception) -> bytes:
    """Return the last event of a failed stream."""
    shown = to_app_error(error)
    return sse_event({"error": shown.message, "code": shown.code})


draining: Callable[[], bool] = lambda: False  # noqa: E731 (set by the server at SIGTERM)


@dataclass(frozen=True)
class StreamSettings:
    """The intervals of keep-alives and permission checks, and the maximum durations of a stream and of its drain."""

    comment_interval_s: float = 10
    check_s: float = 10
    total_s: float = 120
    drain_grace_s: float = 10


@dataclass(frozen=True)
class EventStream:
    """The source of a stream.

    `chunks` yields blocks of framed events, and b"" periodically while it waits; `app.concurrency.background.prefetch`
    wraps a generator that cannot do this. A `FinalBlock` is sent together with the end. `cancel` ends the wait of the
    generator. `failed` frames an error for the reader. `end` is always sent last. `allowed` returns True as long as the
    reader may read; it may query the database on a separate connection.
    """

    chunks: Blocks
    cancel: Callable[[], None]
    failed: Callable[[Exception], bytes]
    end: bytes = b""
    allowed: Callable[[], bool] | None = None


def sse_response(
    events: EventStream, *, timing: StreamSettings | None = None, headers: Mapping[str, str] | None = None
) -> Response:
    """Return a response that sends the events as they arrive.

    A disconnected reader is detected at the second write, so within a keep-alive interval. Then `cancel` is called.
    """
    # Without direct_passthrough, Werkzeug would keep the response and inspect each block.
    response = Response(
        _Stream(events, timing or StreamSettings()), content_type="text/event-stream", direct_passthrough=True
    )
    response.headers.update({"Cache-Control": "no-cache", "X-Accel-Buffering": "no", **(headers or {})})
    return response


def _log(error: Exception) -> None:
    """Log an expected error as information, and any other as a defect."""
    if isinstance(error, (AppError, DriverError)) or is_transient(error):
        log.info("stream.failed", error=type(error).__name__)
    else:
        log.error("stream.broke", exc_info=error)


class _Stream:
    """The iterable that the WSGI server sends. The server always calls `close`."""

    def __init__(self, events: EventStream, timing: StreamSettings) -> None:
        self._events, self._timing = events, timing
        self._last_write_s = now_s = time.monotonic()
        self._until = now_s + timing.total_s
        self._next_check = now_s + timing.check_s
        self._drain_until: float | None = None
        self._is_started = self._is_ended = self._is_comment_open = self._is_written = False
        self._log_context = structlog.contextvars.get_contextvars()

    def __iter__(self) -> "_Stream":
        return self

    def __next__(self) -> bytes:
        if self._is_ended:
            raise StopIteration
        self._is_written = False
        if not self._is_started:
            self._begin()
        block = self._next_block()
        self._is_written = True
        return block

    def close(self) -> None:
        """End the stream after the last block or after the reader has disconnected."""
        if not self._is_ended:
            self._is_ended = True
            self._events.cancel()
        if not self._is_started:
            # Start an unread stream as well, so that its generator releases its resources.
            self._begin()
            with contextlib.suppress(Exception):
                next(self._events.chunks, None)
        if ticker.unregister(self):
            STREAMS.dec()
        self._close_blocks()
        structlog.contextvars.unbind_contextvars(*self._log_context)

    def tick(self, now_s: float) -> None:
        """Release the resources after the deadline, even if a reader that accepts no bytes blocks the write."""
        if self._is_written and now_s >= self._until:
            self._is_written = False
            threading.Thread(target=self._abandon, name="stream", daemon=True).start()

    def _begin(self) -> None:
        self._is_started = True
        structlog.contextvars.bind_contextvars(**self._log_context)
        STREAMS.inc()
        ticker.register(self)

    def _next_block(self) -> bytes:
        now_s = self._last_write_s = time.monotonic()
        while True:
            failure = self._must_end(now_s)
            if failure is not None:
                return self._fail(failure)
            try:
                block = next(self._events.chunks, None)
            except Exception as error:
                _log(error)
                return self._end(self._events.failed(error))
            if block is None:
                return self._end()
            if block:
                return self._end(block) if isinstance(block, FinalBlock) else self._after_comment(block)
            now_s = time.monotonic()
            comment = self._comment(now_s)
            if comment:
                return comment

    def _after_comment(self, block: bytes) -> bytes:
        """Return the block, after the end of an open comment."""
        if not self._is_comment_open:
            return block
        self._is_comment_open = False
        return b"\n\n" + block

    def _comment(self, now_s: float) -> bytes:
        """Return one half of a keep-alive comment if it is due.

        The first write after a disconnect succeeds; only the second one fails.
        """
        if self._is_comment_open:
            return self._after_comment(b"")
        self._is_comment_open = now_s - self._last_write_s >= self._timing.comment_interval_s
        return b":" if self._is_comment_open else b""

    def _end(self, block: bytes = b"") -> bytes:
        self._is_ended = True
        return self._after_comment(block + self._events.end)

    def _must_end(self, now_s: float) -> Exception | None:
        if now_s >= self._until:
            return GatewayTimeout("The stream exceeded its maximum duration")
        if now_s >= self._next_check:
            self._next_check = now_s + self._timing.check_s
            if self._events.allowed is not None and not is_permitted(self._events.allowed):
                return PermissionDenied()
        if draining():
            self._drain_until = self._drain_until or now_s + self._timing.drain_grace_s
            if now_s >= self._drain_until:
                return ServiceUnavailable("The service is restarting. Try again in a moment")
        return None

    def _fail(self, failure: Exception) -> bytes:
        self._events.cancel()
        return self._end(self._events.failed(failure))

    def _abandon(self) -> None:
        self._events.cancel()
        self._close_blocks()

    def _close_blocks(self) -> None:
        try:
            self._events.chunks.close()
        except ValueError:  # another thread runs the generator
            if inspect.getgeneratorstate(self._events.chunks) != inspect.GEN_RUNNING:
                raise
