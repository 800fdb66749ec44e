"""An answer that is read while it comes: bounded in silence and in total, and ended from another thread at once.

Knows no service; `app.drivers.http.HttpClient.stream` makes these.
"""

import contextlib
import socket
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import requests
from requests.structures import CaseInsensitiveDict
from urllib3.exceptions import HTTPError, ReadTimeoutError

from app.drivers.errors import Absent, Broken, Late

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

    def __init__(self, response: requests.Response, *, idle_s: float, until: float) -> None:
        self.status = response.status_code
        self.headers: Mapping[str, str] = CaseInsensitiveDict(response.headers)
        self._response, self._idle_s, self._until = response, idle_s, until
        self._socket = _socket_of(response.raw)
        self._cancelled = self._reading = False

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
            raise self._told(TimedOut("The other service stopped answering")) from fault
        except (HTTPError, OSError) as fault:
            raise self._told(Cut("The other service's answer was cut short")) from fault
        except (AttributeError, ValueError) as fault:  # what a body raises that is closed while it is read
            if not self._cancelled:
                raise
            raise Cancelled("Given up") from fault
        if self._cancelled:
            raise Cancelled("Given up")

    def _read(self) -> bytes:
        left_s = self._until - time.monotonic()
        if left_s <= 0:
            raise TimedOut("The other service did not finish its answer in time")
        if self._socket is not None and self._socket.fileno() >= 0:
            self._socket.settimeout(min(self._idle_s, left_s))
        self._reading = True
        try:
            piece: bytes = self._response.raw.read1(PIECE_BYTES, decode_content=True)
        finally:
            self._reading = False
            if self._cancelled:
                self._response.close()
        return piece

    def _told(self, failure: Late | Broken) -> Late | Broken | Cancelled:
        return Cancelled("Given up") if self._cancelled else failure

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
        if self._socket is not None:
            with contextlib.suppress(OSError):
                self._socket.shutdown(socket.SHUT_RDWR)
        if not self._reading:  # else the reader, whom the shutdown wakes, closes: a buffer being read cannot be closed
            self._response.close()

    def finish(self) -> None:
        """All that matters was read: keep the connection for the next call where the answer ends at once."""
        self._idle_s = ENDING_S
        if len(self.body(max_bytes=PIECE_BYTES)) == PIECE_BYTES:
            self.close()
        self._socket = None
        self._response.close()


def _socket_of(raw: Any) -> socket.socket | None:
    """The socket below an answer, which urllib3 shows only while the connection is to be kept."""
    kept = getattr(getattr(raw, "connection", None), "sock", None)
    if kept is None:
        reader = getattr(getattr(getattr(raw, "_fp", None), "fp", None), "raw", None)
        kept = getattr(reader, "_sock", None)
    return kept
