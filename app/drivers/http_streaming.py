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

from app.core import readiness
from app.core.beside import PULSE_S
from app.core.ticker import ticker
from app.drivers.errors import Absent, Broken, Late
from app.drivers.http_framing import Chunked, Counted, Framing
from app.drivers.http_pool import shut

PIECE_BYTES = 64 * 1024
ENDING_S = 0.2
_NOTHING_YET = (BlockingIOError, InterruptedError, ssl.SSLWantReadError)


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
    """An answer whose head has come and whose body is still coming.

    The body is read from the socket itself: the standard library reads it chunk by chunk, and a buffered reader that a
    timeout woke refuses to go on.
    """

    def __init__(self, raw: BaseHTTPResponse, *, idle_s: float, until: float) -> None:
        self.status = raw.status
        self.headers: Mapping[str, str] = raw.headers
        # No more than this is held for as long as the answer lasts: a whole `requests` answer has its request, too.
        self._raw, self._idle_s, self._until = raw, idle_s, until
        self._body = _Body(raw)
        self._pulse_s = PULSE_S
        self._waiting_since: float | None = None
        self._cancelled = False
        ticker.watch(self)

    def tick(self, now_s: float) -> None:
        """Wake a read that has waited for a while."""
        since = self._waiting_since
        if since is not None and now_s - since >= self._pulse_s:
            self._waiting_since = now_s
            self._body.wake()

    def pieces(self) -> Iterator[bytes]:
        """The body, each piece as soon as it is there; b"" now and then while there is none.

        Raises:
            TimedOut: silence for longer than the patience, or the whole takes too long.
            Cut: it ended before its end.
            Broken: it is in no form that was asked for.
            Cancelled: `close` was called meanwhile.
        """
        silent_since: float | None = None
        while not self._body.over:
            if self._cancelled:
                raise Cancelled("Given up")
            now_s = time.monotonic()
            silent_since = silent_since or now_s
            if now_s >= self._until or now_s - silent_since >= self._idle_s:
                raise TimedOut("The other service did not go on, or did not finish, in time")
            piece = self._read(now_s)
            if piece is not None:
                silent_since = None
            yield piece or b""

    def _read(self, now_s: float) -> bytes | None:
        """What has come of the body, which may be nothing; None where nothing at all came."""
        self._waiting_since = now_s
        try:
            piece = self._body.read(self._pulse_s)
        except (OSError, EOFError, ValueError) as fault:  # a closed socket may raise anything
            raise self._broken_off() from fault
        finally:
            self._waiting_since = None
            if self._cancelled:
                self._end()
        return piece

    def _broken_off(self) -> Cancelled | Cut:
        return Cancelled("Given up") if self._cancelled else Cut("The other service's answer was cut short")

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
        # Else whoever reads closes, woken by the shutdown: what is waited for cannot be closed.
        if self._waiting_since is None:
            self._end()

    def finish(self) -> None:
        """All that matters was read: keep the connection for the next call where the answer ends at once."""
        self._idle_s = self._pulse_s = ENDING_S
        self.body(max_bytes=PIECE_BYTES)
        self._end()

    def _end(self) -> None:
        ticker.forget(self)
        self._body.close()


class _Body:
    """The bytes of an answer, straight from its socket."""

    def __init__(self, raw: Any) -> None:
        self._raw = raw
        self._head: Any = raw._fp
        self._socket: Any = _socket_of(raw)
        self._ready: readiness.Readiness | None = None
        self._framing: Framing = Chunked() if self._head.chunked else Counted(self._head.length)
        self._kept = raw.connection is not None and not self._head.will_close
        self._plain = raw.headers.get("Content-Encoding", "identity").lower() == "identity"

    @property
    def over(self) -> bool:
        return self._framing.over

    def read(self, within_s: float) -> bytes | None:
        """What comes; None for nothing within that time. Raises EOFError before the end, OSError, Broken."""
        if not self._plain:
            raise Broken("The other service compressed what was asked for as it is")
        data = self._begin() or self._receive(within_s)
        if data is None:
            return None
        if data:
            return self._framing.take(data)
        if not self._framing.at_end():
            raise EOFError
        self._framing.over = True
        return b""

    def _begin(self) -> bytes:
        """What was read together with the head, the first time; never waits."""
        if self._head is None or self._socket is None:
            return b""
        self._socket.settimeout(0)
        self._ready = readiness.of(self._socket.fileno())
        head, self._head = self._head, None
        try:
            return bytes(head.fp.peek())
        except _NOTHING_YET:
            return b""
        finally:
            if self._kept:
                head.close()  # its buffer; the socket is the connection's

    def _receive(self, within_s: float) -> bytes | None:
        if self._socket is None or self._ready is None:
            raise EOFError
        try:
            # What TLS has unpacked already wakes nobody.
            if not getattr(self._socket, "pending", _none)() and not self._ready.wait(within_s):
                return None
            data: bytes = self._socket.recv(PIECE_BYTES)
        except _NOTHING_YET:
            return None
        return data

    def wake(self) -> None:
        """End a wait for now."""
        if self._ready is not None:
            self._ready.wake()

    def shut(self) -> None:
        """End the connection, which wakes whoever waits; one that was given back may be another's already."""
        if self._socket is not None:
            shut(self._socket)

    def close(self) -> None:
        """Give the connection back if all was read, and close it if not."""
        ready, self._ready, self._socket = self._ready, None, None
        if ready is not None:
            ready.close()
        if self._head is not None or not self._kept or not self.over or self._framing.spare:
            self._raw.close()
        self._raw.release_conn()


def _socket_of(raw: Any) -> Any:
    """The socket below an answer, which urllib3 shows only while the connection is to be kept."""
    kept = getattr(getattr(raw, "connection", None), "sock", None)
    if kept is None:
        reader = getattr(getattr(getattr(raw, "_fp", None), "fp", None), "raw", None)
        kept = getattr(reader, "_sock", None)
    return kept


def _none() -> int:
    return 0
