"""Counting in sliding windows: in Redis for all workers together, or in this process for its share.

Knows no request and no row of the table. When Redis fails, counting goes on in memory, never unlimited.
"""

import hashlib
import math
import threading
import time
from collections import deque
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Protocol

import structlog
from limits import RateLimitItem, RateLimitItemPerSecond
from limits.storage import storage_from_string
from limits.strategies import MovingWindowRateLimiter
from prometheus_client import Counter

from app.core.breaker import CircuitBreaker
from app.core.limits import Rate
from app.core.metrics import RATE_DECISIONS, RATE_FALLBACKS
from app.core.redis_use import FAILURES, REST_S, TIMEOUTS

log = structlog.get_logger(__name__)

SWEEP_EVERY = 20_000


class Windows(Protocol):
    """A place where events are counted, each by its `where` and the length of the window."""

    def wait_s(self, rate: Rate, where: str) -> int:
        """The seconds until one more fits; 0 when it does now."""

    def take(self, rate: Rate, where: str) -> int:
        """Count one where it fits; otherwise the seconds to wait. One step, whatever happens beside it."""

    def clear(self, rate: Rate, where: str) -> None:
        """Forget what was counted."""


class RateCounter:
    """Counts by name and key. In memory each of `workers` processes enforces its share of a limit."""

    def __init__(
        self, *, redis_url: str | None = None, workers: int = 1, scale: float = 1.0, rest_s: float = REST_S
    ) -> None:
        self._scale, self._workers = scale, workers
        self._memory = MemoryWindows()
        self._redis = RedisWindows(redis_url) if redis_url else None
        self._breaker = CircuitBreaker(rest_s)

    def spend(self, rates: Sequence[Rate], name: str, key: str) -> int:
        """Count an event where every rate has room for it; otherwise the seconds to wait, and nothing is counted."""
        # With one rate taking tells; of several none may be counted unless all have room.
        wait_s = self.wait_s(rates, name, key) if len(rates) > 1 else 0
        wait_s = wait_s or self._first(rates, f"{name}:{_digest(key)}", counts=True)
        place = "memory" if self._redis is None or self._breaker.is_open else "redis"
        _decided(place, "refused" if wait_s else "passed").inc()
        return wait_s

    def wait_s(self, rates: Sequence[Rate], name: str, key: str) -> int:
        """The seconds to wait until there is room for one more; 0 when there is."""
        return self._first(rates, f"{name}:{_digest(key)}", counts=False)

    def forgive(self, rates: Sequence[Rate], name: str, key: str) -> None:
        """Forget what was counted."""
        for windows, share in self._places():
            try:
                for rate in rates:
                    windows.clear(_shared(rate, self._scale, share), f"{name}:{_digest(key)}")
            except FAILURES:
                self._fall_back()

    def reach(self) -> bool | None:
        """Whether Redis answers now; None where none is configured."""
        if self._redis is None:
            return None
        try:
            return self._redis.answers()
        except FAILURES:
            return False

    def _first(self, rates: Sequence[Rate], where: str, *, counts: bool) -> int:
        """The answer of the first place that gives one."""
        for windows, share in self._places():
            ask = windows.take if counts else windows.wait_s
            try:
                return max((ask(_shared(rate, self._scale, share), where) for rate in rates), default=0)
            except FAILURES:
                self._fall_back()
        return 0

    def _places(self) -> Iterator[tuple[Windows, int]]:
        """Whom to ask, in order, and among how many each divides a limit."""
        if self._redis is not None and not self._breaker.is_open:
            yield self._redis, 1
        yield self._memory, self._workers

    def _fall_back(self) -> None:
        log.warning("rates.redis_unavailable", rests_s=self._breaker.rest_s)
        RATE_FALLBACKS.inc()
        self._breaker.trip()


class MemoryWindows:
    """Times of events by name and window, oldest first.

    Our own, because the library's storage looks through every key from a thread a hundred times a second.
    """

    def __init__(self) -> None:
        self._events: dict[tuple[str, int], deque[float]] = {}
        self._lock = threading.Lock()
        self._asked = 0

    def wait_s(self, rate: Rate, where: str) -> int:
        """See `Windows`."""
        with self._lock:
            return self._wait_s(rate, where, time.monotonic())

    def take(self, rate: Rate, where: str) -> int:
        """See `Windows`."""
        now_s = time.monotonic()
        with self._lock:
            self._sweep(now_s)
            wait_s = self._wait_s(rate, where, now_s)
            if not wait_s:
                self._events.setdefault((where, rate.per_s), deque()).append(now_s)
            return wait_s

    def clear(self, rate: Rate, where: str) -> None:
        """See `Windows`."""
        with self._lock:
            self._events.pop((where, rate.per_s), None)

    def _wait_s(self, rate: Rate, where: str, now_s: float) -> int:
        events = self._events.get((where, rate.per_s))
        if not events:
            return 0
        while events and events[0] <= now_s - rate.per_s:
            events.popleft()
        return 0 if len(events) < rate.times else max(1, math.ceil(events[-rate.times] + rate.per_s - now_s))

    def _sweep(self, now_s: float) -> None:
        """Now and then, drop the windows that ran empty."""
        self._asked += 1
        if self._asked % SWEEP_EVERY == 0:
            gone = [key for key, events in self._events.items() if not events or events[-1] <= now_s - key[1]]
            for key in gone:
                del self._events[key]


class RedisWindows:
    """The moving windows of `limits`, the library under Flask-Limiter: one atomic script a call."""

    def __init__(self, url: str) -> None:
        address = url.replace("unix://", "redis+unix://", 1) if url.startswith("unix:") else url
        self._storage = storage_from_string(address, **TIMEOUTS)
        self._limiter = MovingWindowRateLimiter(self._storage)

    def answers(self) -> bool:
        """Whether the server answers. Raises RedisError, OSError."""
        return bool(self._storage.check())

    def wait_s(self, rate: Rate, where: str) -> int:
        """See `Windows`."""
        item = _item(rate)
        return 0 if self._limiter.test(item, where) else self._left_s(item, where)

    def take(self, rate: Rate, where: str) -> int:
        """See `Windows`."""
        item = _item(rate)
        return 0 if self._limiter.hit(item, where) else self._left_s(item, where)

    def clear(self, rate: Rate, where: str) -> None:
        """See `Windows`."""
        self._limiter.clear(_item(rate), where)

    def _left_s(self, item: RateLimitItem, where: str) -> int:
        return max(1, math.ceil(self._limiter.get_window_stats(item, where).reset_time - time.time()))


@cache
def _shared(rate: Rate, scale: float, share: int) -> Rate:
    """What one of `share` processes enforces."""
    return Rate(math.ceil(rate.scaled(scale).times / share), rate.per_s)


@cache
def _decided(place: str, decision: str) -> Counter:
    """Found once: looking labels up with every request costs more than counting."""
    return RATE_DECISIONS.labels(place, decision)


def _item(rate: Rate) -> RateLimitItem:
    return RateLimitItemPerSecond(rate.times, rate.per_s, namespace="galley")


def _digest(key: str) -> str:
    """E-mail and network addresses do not stand in Redis in clear."""
    return hashlib.blake2b(key.encode("utf-8", "surrogatepass"), digest_size=12).hexdigest()
