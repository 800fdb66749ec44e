"""Trying a call again when what failed may pass; knows no protocol: the caller says which failures do."""

import random
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from app.core.limits import OutboundLimits

T = TypeVar("T")

_DEFAULTS = OutboundLimits()


def _no_wait_asked(_failure: Exception) -> float | None:
    return None


@dataclass(frozen=True)
class RetryOptions:
    """How often, how long and after what (limits, section 1 “Outbound”).

    `passing` tells whether a failure may pass; `asked_wait_s` the wait the other side asked for, where it did.
    `deadline_s` counts from the first attempt: 30 for a request, more for a job.
    """

    passing: Callable[[Exception], bool]
    asked_wait_s: Callable[[Exception], float | None] = _no_wait_asked
    attempts: int = _DEFAULTS.attempts
    base_s: float = _DEFAULTS.backoff_base_s
    max_s: float = _DEFAULTS.backoff_max_s
    deadline_s: float = _DEFAULTS.deadline_s
    asked_max_s: float = _DEFAULTS.retry_after_max_s
    sleep: Callable[[float], None] = time.sleep
    now: Callable[[], float] = time.monotonic


def retry(fn: Callable[[], T], options: RetryOptions) -> T:
    """Call `fn` until it returns, a failure does not pass, or attempts or time are used up; raises the last failure.

    Waits with full jitter: anything up to `base_s` doubled with each attempt, at most `max_s`. A wait the other side
    asked for is kept, or not waited for at all when it is over `asked_max_s` or the deadline (spec 4.13).
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
    """How long to wait before the next attempt; None when there should be none."""
    if not options.passing(failure):
        return None
    asked_s = options.asked_wait_s(failure)
    if asked_s is not None:
        return asked_s if asked_s <= options.asked_max_s else None
    # Full jitter spreads callers that failed together; the randomness guards nothing.
    return random.uniform(0, min(options.max_s, options.base_s * 2**attempt))  # noqa: S311
