"""A circuit breaker: what failed is left alone for a while, so that a dead server costs one wait and not one a call."""

import time


class CircuitBreaker:
    """Open for `rest_s` seconds after each failure it is told of; safe to ask from any thread."""

    def __init__(self, rest_s: float) -> None:
        self.rest_s = rest_s
        self._open_until_s = 0.0

    @property
    def is_open(self) -> bool:
        """Whether nobody is to call."""
        return time.monotonic() < self._open_until_s

    def trip(self) -> None:
        """A call has failed."""
        self._open_until_s = time.monotonic() + self.rest_s
