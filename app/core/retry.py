"""Retries of calls with back-off and jitter, and a circuit breaker. The caller decides which failures are transient."""

import random
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from app.core.limits import OutboundLimits

T = TypeVar("T")

_DEFAULTS = OutboundLimits()


def _no_requested_wait(_failure: Exception) -> float | None:
    return None


@dataclass(frozen=True)
class RetryOptions:
    """The options of a retry (limits, section 1 “Outbound”).

    `is_transient` returns whether a retry of the failure may succeed. `requested_wait_s` returns the wait that the
    server requested, or None. `deadline_s` counts from the first attempt: 30 for a request, more for a job.
    """

    is_transient: Callable[[Exception], bool]
    requested_wait_s: Callable[[Exception], float | None] = _no_requested_wait
    attempts: int = _DEFAULTS.attempts
    base_s: float = _DEFAULTS.backoff_base_s
    max_s: float = _DEFAULTS.backoff_max_s
    deadline_s: float = _DEFAULTS.deadline_s
    max_requested_wait_s: float = _DEFAULTS.retry_after_max_s
    sleep: Callable[[float], None] = time.sleep
    now: Callable[[], float] = time.monotonic


def retry(fn: Callable[[], T], options: RetryOptions) -> T:
    """Call `fn` until it returns. Raises the last failure if it is permanent, or if no attempt or time remains.

    Waits use full jitter: a random time up to `base_s` doubled with each attempt, at most `max_s`. A wait that the
    server requests is observed. If it exceeds `max_requested_wait_s` or the deadline, the failure is raised at once
    (spec 4.13).
    """
    until = options.now() + options.deadline_s
    for attempt in range(options.attempts - 1):
        try:
            return fn()
        except Exception as failure:
            wait_s = _wait_s(failure, attempt, options)
            if wait_s is None or options.now() + wait_s >= until:
                raise
        options.sleep(wait_s)
    return fn()


def _wait_s(failure: Exception, attempt: int, options: RetryOptions) -> float | None:
    """Return the wait before the next attempt, or None if there must be no further attempt."""
    if not options.is_transient(failure):
        return None
    requested_s = options.requested_wait_s(failure)
    if requested_s is not None:
        return requested_s if requested_s <= options.max_requested_wait_s else None
    # Full jitter spreads callers that failed at the same time. The value is not security-relevant.
    return random.uniform(0, min(options.max_s, options.base_s * 2**attempt))  # noqa: S311


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
