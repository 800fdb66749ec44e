"""An answer that is read while it comes: bounded in silence and in total, and ended from another thread at once.

Knows no service; `app.drivers.http.HttpClient.stream` makes these.
"""

import contextlib
import ssl
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from urllib3 import BaseHTTPResponse
from urllib3.exceptions import HTTPError, ReadTimeoutError

from app.core import readiness
from app.core.beside import PULSE_S
from app.core.ticker import ticker
from app.drivers.errors import Absent, Broken, Late
from app.drivers.http_pool import shut

PIECE_BYTES = 64 * 1024
ENDING_S = 0.2
LINE_END_BYTES = len(b"\r\n")


class TimedOut(Late):
    """No whole answer came in time; what was asked for may have taken effect."""


class Cut(Broken):
    """The answer ended before it was whole."""


class Cancelled(Absent):
    """Whoever read the answer gave it up."""


@dataclass(frozen=True)
class Patience:
    """How long a streamed call may take: for the connection, the answer's head, each silence after it, and in all."""

    connect_s: float = 5
    first_byte_s: float = 30
    idle_s: float = 20
    total_s: float = 120


class StreamedAnswer:
    """An answer whose head has come and whose body is still coming."""

    def __init__(self, raw: BaseHTTPResponse, *, idle_s: float, until: float) -> None:
        self.status = raw.status
        self.headers: Mapping[str, str] = raw.headers
        # No more than this is held for as long as the answer lasts: a whole `requests` answer has its request, too.
        self._body, self._idle_s, self._until = _Body(raw), idle_s, until
        self._silent_since: float | None = None
        self._waiting_since: float | None = None
        self._reading = self._over = self._cancelled = self._late = False
        ticker.watch(self)

    def tick(self, now_s: float) -> None:
        """End a silence that takes too long, or the whole; wake a read that has waited for a while."""
        silent_since, waiting_since = self._silent_since, self._waiting_since
        is_silent = self._reading and silent_since is not None and now_s - silent_since >= self._idle_s
        if now_s >= self._until or is_silent:
            self._late = True
            ticker.forget(self)
            self._body.shut()
        elif waiting_since is not None and now_s - waiting_since >= PULSE_S:
            self._waiting_since = now_s
            self._body.wake()

    def pieces(self) -> Iterator[bytes]:
        """The body, each piece as soon as it is there; b"" now and then while there is none.

        Raises:
            TimedOut: silence for longer than the patience, or the whole takes too long.
            Cut: it ended before its end.
            Cancelled: `close` was called meanwhile.
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
        """Add what is there, or what comes in a while."""
        self._silent_since = self._silent_since or time.monotonic()
        self._reading, size = True, 0
        try:
            while size < PIECE_BYTES and (self._body.is_there() or (not parts and self._comes())):
                part = self._body.read()
                self._over = not part
                # What TLS gives after the shutdown is not unpacked any more.
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
            time.sleep(0)  # a fast one leaves the others a turn

    def _comes(self) -> bool:
        self._waiting_since = time.monotonic()
        try:
            return self._body.wait(PULSE_S)
        finally:
            self._waiting_since = None

    def _failure(self, fault: Exception | None) -> Exception | None:
        if self._cancelled:
            return Cancelled("Given up")
        if self._late or isinstance(fault, ReadTimeoutError):
            return TimedOut("The other service did not go on, or did not finish, in time")
        return Cut("The other service's answer was cut short") if isinstance(fault, HTTPError | OSError) else fault

    def body(self, *, max_bytes: int) -> bytes:
        """At most the first `max_bytes` of the body, as far as it comes: for the words of a refusal."""
        found = b""
        with contextlib.suppress(Late, Broken, Absent):
            for piece in self.pieces():
                found += piece
                if len(found) >= max_bytes:
                    break
        return found[:max_bytes]

    def close(self) -> None:
        """Give the answer up; a thread or greenlet that waits for its next piece goes on with Cancelled."""
        self._cancelled = True
        self._body.shut()
        # Else whoever reads closes, woken by the shutdown: a buffer in use cannot be closed.
        if not self._reading:
            self._end()

    def finish(self) -> None:
        """All that matters was read: keep the connection for the next call where the answer ends at once."""
        self._idle_s = ENDING_S
        self.body(max_bytes=PIECE_BYTES)
        self._end()

    def _end(self) -> None:
        ticker.forget(self)
        self._body.close()


class _Body:
    """The bytes of an answer, read by the HTTP library once there are some: a read that was broken off cannot go on."""

    def __init__(self, raw: Any) -> None:
        self._raw = raw
        self._socket: Any = _socket_of(raw)
        self._ready: readiness.Readiness | None = None
        self._more_decoded = False
        if self._socket is not None:
            # A socket's own timeout is a new timer for every read; the ticker looks after all of them.
            self._socket.settimeout(None)
            self._ready = readiness.of(self._socket.fileno())

    def is_there(self) -> bool:
        """Whether a read finds something, be it the end; never waits."""
        head = self._raw._fp
        if self._socket is None or head.fp is None or self._more_decoded:
            return True
        # The line end after a chunk is no piece, and most often already there.
        nothing = LINE_END_BYTES if head.chunked and head.chunk_left == 0 else 0
        self._socket.settimeout(0)
        try:
            return len(head.fp.peek()) > nothing or self._unpacked() > 0
        except ssl.SSLWantReadError:
            return False
        finally:
            self._socket.settimeout(None)

    def wait(self, within_s: float) -> bool:
        """Whether something comes, be it the end; False after about that time, or when woken."""
        return self._ready is None or self._ready.wait(within_s)

    def read(self) -> bytes:
        """The next piece; b"" at the end."""
        piece: bytes = self._raw.read1(PIECE_BYTES, decode_content=True)
        self._more_decoded = len(piece) == PIECE_BYTES
        return piece

    def wake(self) -> None:
        """End a wait for now."""
        if self._ready is not None:
            self._ready.wake()

    def shut(self) -> None:
        """End the connection, which wakes whoever waits."""
        # Once the body was read whole the connection is kept for others, and may be theirs already.
        if self._socket is not None and self._raw.connection is not None:
            shut(self._socket)

    def close(self) -> None:
        """Close what was not read whole; give a connection back that was."""
        ready, self._ready, self._socket = self._ready, None, None
        if ready is not None:
            ready.close()
        self._raw.close()
        self._raw.release_conn()

    def _unpacked(self) -> int:
        """How much TLS has unpacked, which wakes nobody."""
        pending = getattr(self._socket, "pending", None)
        return pending() if pending is not None else 0


def _socket_of(raw: Any) -> Any:
    """The socket below an answer, which urllib3 shows only while the connection is to be kept."""
    kept = getattr(getattr(raw, "connection", None), "sock", None)
    if kept is None:
        reader = getattr(getattr(getattr(raw, "_fp", None), "fp", None), "raw", None)
        kept = getattr(reader, "_sock", None)
    return kept
