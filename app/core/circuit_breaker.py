"""A circuit breaker: it refuses calls to a failed server for a fixed time, and callers do not wait for timeouts."""

import time


class CircuitBreaker:
    """A circuit breaker that is open for `open_s` seconds after each reported failure. Thread-safe."""

    def __init__(self, open_s: float) -> None:
        self.open_s = open_s
        self._open_until_s = 0.0

    @property
    def is_open(self) -> bool:
        """Return whether calls must not be made."""
        return time.monotonic() < self._open_until_s

    def trip(self) -> None:
        """Report a failed call."""
        self._open_until_s = time.monotonic() + self.open_s
