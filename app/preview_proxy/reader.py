"""Bounded reader for responses of the sandbox. Yields to other greenlets and checks the membership regularly."""

import io
import socket
import time
from collections.abc import Callable
from http.client import HTTPException

from app.access.membership import is_still_allowed

STEP_BYTES = 1024 * 1024
"""Maximum size of one step: the informational responses and the head, or a piece of the body and the trailers."""

SILENCE_S = 600
"""Maximum time without a byte: a development server may build before it responds, and event streams may be silent."""


class BoundedReader(io.RawIOBase):
    """A raw stream of one connection with a byte limit per step. It yields to other greenlets at each read."""

    def __init__(
        self,
        connection: socket.socket,
        allowed: Callable[[], bool],
        *,
        check_s: float,
        silence_s: float = SILENCE_S,
    ) -> None:
        self._connection, self._allowed = connection, allowed
        self._check_s, self._silence_s = check_s, silence_s
        self._remaining, self._next_check = STEP_BYTES, time.monotonic() + check_s

    def reset_budget(self) -> None:
        """Start the next step."""
        self._remaining = STEP_BYTES

    def readable(self) -> bool:
        """Return True."""
        return True

    def readinto(self, buffer: memoryview, /) -> int:  # type: ignore[override]
        """Read the available bytes.

        Raises:
            HTTPException: the step exceeds its limit, or the membership has ended.
            OSError: the connection failed, or was silent for longer than `silence_s`.
        """
        time.sleep(0)  # a socket that always has data never switches to other greenlets
        if self._remaining <= 0:
            raise HTTPException("the step exceeds its limit")
        self._connection.settimeout(self._check_s)
        silent_until = time.monotonic() + self._silence_s
        while True:
            try:
                read = self._connection.recv_into(buffer)
            except TimeoutError:
                self._check()
                if time.monotonic() >= silent_until:
                    raise
            else:
                self._check()
                self._remaining -= read
                return read

    def makefile(self, _mode: str) -> io.BufferedReader:
        """Return the reader as a file, as `http.client` requires."""
        return io.BufferedReader(self)

    def _check(self) -> None:
        now_s = time.monotonic()
        if now_s >= self._next_check:
            self._next_check = now_s + self._check_s
            if not is_still_allowed(self._allowed):
                raise HTTPException("the membership has ended")
