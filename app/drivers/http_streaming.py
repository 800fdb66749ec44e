"""An answer that is read while it comes: bounded in silence and in total, and ended from another thread at once.

Knows no service; `app.drivers.http.HttpClient.stream` makes these.
"""

import contextlib
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from urllib3 import BaseHTTPResponse
from urllib3.exceptions import HTTPError, ReadTimeoutError

from app.core.ticker import ticker
from app.drivers.errors import Absent, Broken, Late
from app.drivers.http_pool import shut

PIECE_BYTES = 64 * 1024
ENDING_S = 0.2


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
        self._raw, self._idle_s, self._until = raw, idle_s, until
        self._reading_since: float | None = None
        self._cancelled = self._late = False
        self._socket = _socket_of(raw)
        if self._socket is not None:
            # A socket's own timeout is a new timer for every read; the ticker looks after all of them.
            self._socket.settimeout(None)
        ticker.watch(self)

    def tick(self, now_s: float) -> None:
        """End a read that takes too long."""
        since = self._reading_since
        if now_s >= self._until or (since is not None and now_s - since >= self._idle_s):
            self._late = True
            ticker.forget(self)
            self._shut()

    def pieces(self) -> Iterator[bytes]:
        """The body, each piece as soon as it is there.

        Raises:
            TimedOut: silence for longer than the patience, or the whole takes too long.
            Cut: it ended before its end.
            Cancelled: `close` was called meanwhile.
        """
        try:
            while piece := self._read():
                yield piece
        except ReadTimeoutError as fault:
            raise TimedOut("The other service stopped answering") from fault
        except (HTTPError, OSError) as fault:
            raise self._ended() or Cut("The other service's answer was cut short") from fault
        except (AttributeError, ValueError) as fault:  # what a body raises that is closed while it is read
            ended = self._ended()
            if ended is None:
                raise
            raise ended from fault
        ended = self._ended()
        if ended is not None:
            raise ended

    def _read(self) -> bytes:
        self._reading_since = time.monotonic()
        try:
            piece: bytes = self._raw.read1(PIECE_BYTES, decode_content=True)
        finally:
            self._reading_since = None
            if self._cancelled:
                self._end()
        return piece

    def _ended(self) -> TimedOut | Cancelled | None:
        """Why the answer was ended by us, if it was."""
        if self._cancelled:
            return Cancelled("Given up")
        return TimedOut("The other service did not go on, or did not finish, in time") if self._late else None

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
        ticker.forget(self)
        self._shut()
        if (
            self._reading_since is None
        ):  # else the reader closes, whom the shutdown wakes: a buffer in use cannot be closed
            self._end()

    def finish(self) -> None:
        """All that matters was read: keep the connection for the next call where the answer ends at once."""
        self._idle_s = ENDING_S
        if len(self.body(max_bytes=PIECE_BYTES)) == PIECE_BYTES:
            self.close()
        ticker.forget(self)
        self._socket = None
        self._end()

    def _end(self) -> None:
        """Close what was not read whole; give a connection back that was."""
        self._raw.close()
        self._raw.release_conn()

    def _shut(self) -> None:
        # Once the body was read whole the connection is kept for others, and may be theirs already.
        if self._socket is not None and self._raw.connection is not None:
            shut(self._socket)


def _socket_of(raw: Any) -> Any:
    """The socket below an answer, which urllib3 shows only while the connection is to be kept."""
    kept = getattr(getattr(raw, "connection", None), "sock", None)
    if kept is None:
        reader = getattr(getattr(getattr(raw, "_fp", None), "fp", None), "raw", None)
        kept = getattr(reader, "_sock", None)
    return kept
