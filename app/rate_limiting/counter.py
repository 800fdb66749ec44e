"""Counter of events in sliding windows: in Redis for all workers together, or in this process for its share.

The counter knows neither requests nor the rate-limit table. If Redis fails, it counts in memory.
"""

import hashlib
import math
from collections.abc import Iterator, Sequence
from functools import cache
from typing import TYPE_CHECKING, Protocol

import structlog
from prometheus_client import Counter

from app.core.rates import Rate
from app.core.redis_options import RETRY_AFTER_S
from app.core.retry import CircuitBreaker
from app.observability.metrics import RATE_DECISIONS, RATE_FALLBACKS

if TYPE_CHECKING:
    from app.rate_limiting.redis import RedisWindows
import threading
import time
from collections import deque

log = structlog.get_logger(__name__)

CLEANUP_INTERVAL_CALLS = 20_000


class MemoryWindows:
    """Times of events by name and window, oldest first. Thread-safe.

    The memory storage of `limits` runs a thread that scans all keys a hundred times a second.
    """

    def __init__(self, *, cleanup_interval_calls: int = CLEANUP_INTERVAL_CALLS) -> None:
        self._events: dict[tuple[str, int], deque[float]] = {}
        self._lock = threading.Lock()
        self._calls, self._cleanup_interval_calls = 0, cleanup_interval_calls

    def __len__(self) -> int:
        return len(self._events)

    def wait_s(self, rate: Rate, name: str) -> int:
        with self._lock:
            return self._wait_s(rate, name, time.monotonic())

    def take(self, rate: Rate, name: str) -> int:
        now_s = time.monotonic()
        with self._lock:
            self._delete_empty_windows(now_s)
            wait_s = self._wait_s(rate, name, now_s)
            if not wait_s:
                self._events.setdefault((name, rate.per_s), deque()).append(now_s)
            return wait_s

    def clear(self, rate: Rate, name: str) -> None:
        with self._lock:
            self._events.pop((name, rate.per_s), None)

    def _wait_s(self, rate: Rate, name: str, now_s: float) -> int:
        events = self._events.get((name, rate.per_s))
        if not events:
            return 0
        while events and events[0] <= now_s - rate.per_s:
            events.popleft()
        return 0 if len(events) < rate.times else max(1, math.ceil(events[-rate.times] + rate.per_s - now_s))

    def _delete_empty_windows(self, now_s: float) -> None:
        """Delete empty windows once per `cleanup_interval_calls` calls."""
        self._calls += 1
        if self._calls % self._cleanup_interval_calls == 0:
            expired = [key for key, events in self._events.items() if not events or events[-1] <= now_s - key[1]]
            for key in expired:
                del self._events[key]


class WindowStorage(Protocol):
    """A storage that counts events by name and length of the window."""

    def wait_s(self, rate: Rate, name: str) -> int:
        """Return the seconds until one more event fits; 0 if it fits now."""

    def take(self, rate: Rate, name: str) -> int:
        """Count one event if it fits; otherwise return the seconds to wait. Atomic."""

    def clear(self, rate: Rate, name: str) -> None:
        """Delete the counted events."""


class RateCounter:
    """A counter by name and key. In memory each of `workers` processes enforces its share of a limit."""

    def __init__(
        self,
        *,
        redis_url: str | None = None,
        workers: int = 1,
        scale: float = 1.0,
        retry_after_s: float = RETRY_AFTER_S,
    ) -> None:
        self._scale, self._workers = scale, workers
        self._memory = MemoryWindows()
        self._redis: RedisWindows | None = None
        self._errors: tuple[type[Exception], ...] = ()
        if redis_url:
            self._redis, self._errors = _redis_windows(redis_url)
        self._breaker = CircuitBreaker(retry_after_s)

    def try_acquire(self, rates: Sequence[Rate], name: str, key: str) -> int:
        """Count an event if no rate is used up; otherwise return the seconds to wait and count nothing."""
        # With several rates, all are compared before any of them counts the event.
        wait_s = self.wait_s(rates, name, key) if len(rates) > 1 else 0
        wait_s = wait_s or self._call(rates, f"{name}:{digest(key)}", counts=True)
        storage = "memory" if self._redis is None or self._breaker.is_open else "redis"
        _decision_counter(storage, "refused" if wait_s else "passed").inc()
        return wait_s

    def wait_s(self, rates: Sequence[Rate], name: str, key: str) -> int:
        return self._call(rates, f"{name}:{digest(key)}", counts=False)

    def reset(self, rates: Sequence[Rate], name: str, key: str) -> None:
        """Delete the counted events."""
        for windows, share in self._storages():
            try:
                for rate in rates:
                    windows.clear(_share_of(rate, self._scale, share), f"{name}:{digest(key)}")
            except self._errors:
                self._fall_back()

    def ping(self) -> bool | None:
        """Return True if Redis responds; None if no Redis is configured."""
        if self._redis is None:
            return None
        try:
            return self._redis.ping()
        except self._errors:
            return False

    def _call(self, rates: Sequence[Rate], name: str, *, counts: bool) -> int:
        """Return the result of the first storage that responds."""
        for windows, share in self._storages():
            method = windows.take if counts else windows.wait_s
            try:
                return max((method(_share_of(rate, self._scale, share), name) for rate in rates), default=0)
            except self._errors:
                self._fall_back()
        return 0

    def _storages(self) -> Iterator[tuple[WindowStorage, int]]:
        """Yield the storages in order, each with the number of processes that share a limit in it."""
        if self._redis is not None and not self._breaker.is_open:
            yield self._redis, 1
        yield self._memory, self._workers

    def _fall_back(self) -> None:
        log.warning("rates.redis_unavailable", retry_after_s=self._breaker.open_s)
        RATE_FALLBACKS.inc()
        self._breaker.trip()


def _redis_windows(url: str) -> tuple["RedisWindows", tuple[type[Exception], ...]]:
    """Return the storage in Redis and the exceptions of an unavailable server."""
    from app.core.redis_errors import CONNECTION_ERRORS
    from app.rate_limiting.redis import RedisWindows

    return RedisWindows(url), CONNECTION_ERRORS


@cache
def _share_of(rate: Rate, scale: float, share: int) -> Rate:
    """Return the rate that one of `share` processes enforces."""
    return Rate(math.ceil(rate.scaled(scale).times / share), rate.per_s)


@cache
def _decision_counter(storage: str, decision: str) -> Counter:
    """Return the labelled counter. The lookup of labels costs more than the increment."""
    return RATE_DECISIONS.labels(storage, decision)


def digest(key: str) -> str:
    """Return a hash of a key. E-mail and network addresses are not stored in plain text."""
    return hashlib.blake2b(key.encode("utf-8", "surrogatepass"), digest_size=12).hexdigest()
