"""What a sandbox sends, read so that no flood of it takes a worker from its other requests, and nobody reads on who may not."""

import io
import socket
import time
from collections.abc import Callable
from http.client import HTTPException

from app.http.rights import still

STEP_BYTES = 1024 * 1024
"""What one step may read: a head with all its announcements, or a piece of a body with the trailers behind it."""

CHECK_S = 10
"""How soon a lost membership ends what is still being read."""

SILENCE_S = 600
"""A development server may build for a while before it answers; a stream of events may be silent as long."""


class Incoming(io.RawIOBase):
    """The bytes of one connection, others of this worker in between, so many a step."""

    def __init__(self, connection: socket.socket, allowed: Callable[[], bool]) -> None:
        self._connection, self._allowed = connection, allowed
        self._left, self._next_check = STEP_BYTES, time.monotonic() + CHECK_S

    def step(self) -> None:
        """Begin another step."""
        self._left = STEP_BYTES

    def readable(self) -> bool:
        """It is there to be read."""
        return True

    def readinto(self, buffer: memoryview, /) -> int:  # type: ignore[override]
        """Read what is there.

        Raises:
            HTTPException: a step that does not end, or a reader who may not go on.
            OSError: the connection broke off, or nothing came for too long.
        """
        time.sleep(0)  # a socket that always has something never waits, so nobody else would come in between
        if self._left <= 0:
            raise HTTPException("a step that does not end")
        self._connection.settimeout(CHECK_S)
        silent_until = time.monotonic() + SILENCE_S
        while True:
            try:
                read = self._connection.recv_into(buffer)
            except TimeoutError:
                self._check()
                if time.monotonic() >= silent_until:
                    raise
            else:
                self._check()
                self._left -= read
                return read

    def makefile(self, _mode: str) -> io.BufferedReader:
        """What http.client asks of a socket."""
        return io.BufferedReader(self)

    def _check(self) -> None:
        now_s = time.monotonic()
        if now_s >= self._next_check:
            self._next_check = now_s + CHECK_S
            if not still(self._allowed):
                raise HTTPException("no member any more")
