"""Counting in sliding windows: in Redis for all workers together, or in this process for its share.

Knows no request and no row of the table. When Redis fails, counting goes on in memory, never unlimited.
"""

import hashlib
import math
import time
from collections.abc import Sequence

import structlog
from limits import RateLimitItem, RateLimitItemPerSecond
from limits.storage import MemoryStorage, storage_from_string
from limits.strategies import MovingWindowRateLimiter
from redis.exceptions import RedisError

from app.core.limits import Rate

log = structlog.get_logger(__name__)

REDIS_TIMEOUT_S = 0.25
REDIS_REST_S = 5.0
SWEEP_EVERY = 20_000


class RateCounter:
    """Counts by name and key. In memory each of `workers` processes enforces its share of a limit."""

    def __init__(self, *, redis_url: str | None = None, workers: int = 1, scale: float = 1.0) -> None:
        self._workers, self._scale = workers, scale
        self._events = MemoryStorage()
        self._memory = MovingWindowRateLimiter(self._events)
        self._redis = _redis(redis_url) if redis_url else None
        self._rests_until_s = 0.0
        self._counted = 0

    def spend(self, rates: Sequence[Rate], name: str, key: str, *, cost: int = 1) -> int:
        """Count an event where every rate has room for it; otherwise the seconds to wait, and nothing is counted."""
        return self._ask(rates, name, key, cost=cost, counts=True)

    def wait_s(self, rates: Sequence[Rate], name: str, key: str) -> int:
        """The seconds to wait until there is room for one more; 0 when there is."""
        return self._ask(rates, name, key, cost=1, counts=False)

    def forgive(self, rates: Sequence[Rate], name: str, key: str) -> None:
        """Forget what was counted."""
        for limiter, share in self._limiters():
            try:
                for rate in rates:
                    limiter.clear(self._item(rate, share), name, _digest(key))
            except (RedisError, OSError):
                self._rest()

    def _ask(self, rates: Sequence[Rate], name: str, key: str, *, cost: int, counts: bool) -> int:
        for limiter, share in self._limiters():
            try:
                return self._ask_one(limiter, share, rates, (name, _digest(key)), cost=cost, counts=counts)
            except (RedisError, OSError):
                self._rest()
        return 0

    def _ask_one(
        self,
        limiter: MovingWindowRateLimiter,
        share: int,
        rates: Sequence[Rate],
        where: tuple[str, str],
        *,
        cost: int,
        counts: bool,
    ) -> int:
        items = [self._item(rate, share) for rate in rates]
        # With one rate the hit itself tells; with several none may be counted unless all have room.
        if not counts or len(items) > 1:
            waits = [_wait_s(limiter, item, where) for item in items if not limiter.test(item, *where, cost=cost)]
            if waits or not counts:
                return max(waits, default=0)
        return max(
            (_wait_s(limiter, item, where) for item in items if not limiter.hit(item, *where, cost=cost)), default=0
        )

    def _limiters(self) -> list[tuple[MovingWindowRateLimiter, int]]:
        """Whom to ask, in order, and among how many each divides a limit."""
        self._sweep()
        memory = (self._memory, self._workers)
        if self._redis is None or time.monotonic() < self._rests_until_s:
            return [memory]
        return [(self._redis, 1), memory]

    def _item(self, rate: Rate, share: int) -> RateLimitItem:
        scaled = rate.scaled(self._scale)
        return RateLimitItemPerSecond(math.ceil(scaled.times / share), scaled.per_s, namespace="galley")

    def _rest(self) -> None:
        """Leave Redis alone for a while, so that a dead one costs one timeout and not one a request."""
        if time.monotonic() >= self._rests_until_s:
            log.warning("rates.redis_unavailable", rests_s=REDIS_REST_S)
        self._rests_until_s = time.monotonic() + REDIS_REST_S

    def _sweep(self) -> None:
        """Drop the names of windows that ran empty, which the storage keeps for ever."""
        self._counted += 1
        if self._counted % SWEEP_EVERY == 0:
            for key in [key for key, events in list(self._events.events.items()) if not events]:
                self._events.events.pop(key, None)


def _redis(url: str) -> MovingWindowRateLimiter:
    address = url.replace("unix://", "redis+unix://", 1) if url.startswith("unix:") else url
    timeouts = {"socket_connect_timeout": REDIS_TIMEOUT_S, "socket_timeout": REDIS_TIMEOUT_S}
    return MovingWindowRateLimiter(storage_from_string(address, **timeouts))


def _wait_s(limiter: MovingWindowRateLimiter, item: RateLimitItem, where: tuple[str, str]) -> int:
    return max(1, math.ceil(limiter.get_window_stats(item, *where).reset_time - time.time()))


def _digest(key: str) -> str:
    """E-mail and network addresses do not stand in Redis in clear."""
    return hashlib.blake2b(key.encode("utf-8", "surrogatepass"), digest_size=12).hexdigest()
