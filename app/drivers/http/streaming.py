"""A streamed response with limits for silence and total time. Another thread can end it at once.

`app.drivers.http.client.HttpClient.stream` returns it.
"""

import contextlib
import ssl
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from urllib3 import BaseHTTPResponse
from urllib3.exceptions import HTTPError, ReadTimeoutError

from app.concurrency import wait_readable
from app.concurrency.background import HEARTBEAT_S
from app.concurrency.timer import ticker
from app.drivers.errors import UpstreamError, UpstreamTimeout, UpstreamUnavailable
from app.drivers.http.pool import CancellableConnection, shut

PIECE_BYTES = 64 * 1024
ENDING_S = 0.2
LINE_END_BYTES = len(b"\r\n")


class ResponseTimeout(UpstreamTimeout):
    """A response that was not complete in time. The call may have taken effect."""


class ResponseTruncated(UpstreamError):
    """A response that ended before it was complete."""


class CallCancelled(UpstreamUnavailable):
    """A response that its reader cancelled."""


@dataclass(frozen=True)
class StreamTimeouts:
    """The time limits of a streamed call: for the connection, the head, each silence after it, and the total."""

    connect_s: float = 5
    first_byte_s: float = 30
    idle_s: float = 20
    total_s: float = 120


class StreamingResponse:
    """A response whose head has arrived and whose body is being received."""

    def __init__(self, raw: BaseHTTPResponse, *, idle_s: float, until: float) -> None:
        self.status = raw.status
        self.headers: Mapping[str, str] = raw.headers
        # Store only these objects. A `requests.Response` would also keep the request in memory.
        self._body, self._idle_s, self._until = _Body(raw), idle_s, until
        self._silent_since: float | None = None
        self._waiting_since: float | None = None
        self._reading = self._over = self._cancelled = self._late = False
        ticker.register(self)

    def tick(self, now_s: float) -> None:
        """End a silence or a response that takes too long. Wake a read that has waited for a while."""
        silent_since, waiting_since = self._silent_since, self._waiting_since
        is_silent = self._reading and silent_since is not None and now_s - silent_since >= self._idle_s
        if now_s >= self._until or is_silent:
            self._late = True
            ticker.unregister(self)
            self._body.shut()
        elif waiting_since is not None and now_s - waiting_since >= HEARTBEAT_S:
            self._waiting_since = now_s
            self._body.wake()

    def chunks(self) -> Iterator[bytes]:
        """Yield the body in pieces as they arrive, and b"" from time to time while none arrive.

        Raises:
            ResponseTimeout: a silence or the whole response takes too long.
            ResponseTruncated: the response ended early.
            CallCancelled: `close` was called.
        """
        fault: Exception | None = None
        while not (self._over or self._cancelled or self._late or fault):
            parts: list[bytes] = []
            try:
                self._read(parts)
            # The last two are what a body raises that is closed while it is read.
            except (HTTPError, OSError, AttributeError, ValueError) as error:
                fault = error
            if parts or not (self._over or fault):
                yield b"".join(parts)
        failure = self._failure(fault)
        if failure is not None:
            raise failure from fault

    def _read(self, parts: list[bytes]) -> None:
        """Append available bytes, or those that arrive within a short time."""
        self._silent_since = self._silent_since or time.monotonic()
        self._reading, size = True, 0
        try:
            while size < PIECE_BYTES and (self._body.is_there() or (not parts and self._comes())):
                part = self._body.read()
                self._over = not part
                # TLS does not decrypt data that arrives after the shutdown.
                if self._over or self._cancelled or self._late:
                    break
                parts.append(part)
                size += len(part)
                self._silent_since = time.monotonic()
        finally:
            self._reading = False
            if parts:
                self._silent_since = None
            if self._cancelled:
                self._end()
        if size >= PIECE_BYTES:
            time.sleep(0)  # a fast response yields to other greenlets

    def _comes(self) -> bool:
        self._waiting_since = time.monotonic()
        try:
            return self._body.wait(HEARTBEAT_S)
        finally:
            self._waiting_since = None

    def _failure(self, fault: Exception | None) -> Exception | None:
        if self._cancelled:
            return CallCancelled("The call was cancelled")
        if self._late or isinstance(fault, ReadTimeoutError):
            return ResponseTimeout("The external service did not continue or complete its response in time")
        return (
            ResponseTruncated("The response of the other service was truncated")
            if isinstance(fault, HTTPError | OSError)
            else fault
        )

    def body(self, *, max_bytes: int) -> bytes:
        """Read at most the first `max_bytes` of the body, for the message of a refusal."""
        content = b""
        with contextlib.suppress(UpstreamTimeout, UpstreamError, UpstreamUnavailable):
            for piece in self.chunks():
                content += piece
                if len(content) >= max_bytes:
                    break
        return content[:max_bytes]

    def close(self) -> None:
        """Cancel the response. A thread or greenlet that waits for the next piece raises CallCancelled."""
        self._cancelled = True
        self._body.shut()
        # Otherwise the reader closes after the shutdown wakes it: a buffer in use cannot be closed.
        if not self._reading:
            self._end()

    def finish(self) -> None:
        """Release the connection for the next call if the response ends at once.

        Call this after the relevant part was read.
        """
        self._idle_s = ENDING_S
        self.body(max_bytes=PIECE_BYTES)
        self._end()

    def _end(self) -> None:
        ticker.unregister(self)
        self._body.close()


class _Body:
    """The bytes of a response.

    The HTTP library reads only available bytes, because it cannot resume an interrupted read. The connection must be a
    `CancellableConnection`, and is None if the response is complete.
    """

    def __init__(self, raw: Any) -> None:
        connection: CancellableConnection | None = raw.connection
        self._raw = raw
        self._head: Any = None if connection is None else connection.received
        self._socket: Any = None if connection is None else connection.received_from
        self._ready: wait_readable.SocketWaiter | None = None
        self._more_decoded = False
        if self._socket is not None:
            # A socket timeout would create a timer for every read. One ticker serves all streams instead.
            self._socket.settimeout(None)
            self._ready = wait_readable.for_socket(self._socket.fileno())

    def is_there(self) -> bool:
        """Return whether a read would return at once, also at the end. Does not wait."""
        head = self._head
        if self._socket is None or head.fp is None or self._more_decoded:
            return True
        # The line end after a chunk is not a piece of the body. It has usually arrived already.
        nothing = LINE_END_BYTES if head.chunked and head.chunk_left == 0 else 0
        self._socket.settimeout(0)
        try:
            return len(head.fp.peek()) > nothing or self._unpacked() > 0
        except ssl.SSLWantReadError:
            return False
        finally:
            self._socket.settimeout(None)

    def wait(self, within_s: float) -> bool:
        """Wait until a read would return at once, also at the end. Return False after the timeout or when woken."""
        return self._ready is None or self._ready.wait(within_s)

    def read(self) -> bytes:
        """Read the next piece, or b"" at the end."""
        piece: bytes = self._raw.read1(PIECE_BYTES, decode_content=True)
        self._more_decoded = len(piece) == PIECE_BYTES
        return piece

    def wake(self) -> None:
        """Wake a waiting reader."""
        if self._ready is not None:
            self._ready.wake()

    def shut(self) -> None:
        """Shut down the connection, which wakes its readers."""
        # A completely read connection returns to the pool, and another call may use it already.
        if self._socket is not None and self._raw.connection is not None:
            shut(self._socket)

    def close(self) -> None:
        """Close a connection that was not read to its end. Release one that was."""
        ready, self._ready, self._socket = self._ready, None, None
        if ready is not None:
            ready.close()
        self._raw.close()
        self._raw.release_conn()

    def _unpacked(self) -> int:
        """Return the number of bytes that TLS has decrypted, which do not make the socket readable."""
        pending = getattr(self._socket, "pending", None)
        return pending() if pending is not None else 0
