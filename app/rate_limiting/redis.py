"""Sliding windows in Redis, shared by all processes and nodes."""

import math
import time

from limits import RateLimitItem, RateLimitItemPerSecond
from limits.storage import storage_from_string
from limits.strategies import MovingWindowRateLimiter

from app.core.rates import Rate
from app.core.redis_options import TIMEOUTS


class RedisWindows:
    """The moving windows of `limits`, the library below Flask-Limiter: one atomic script per call."""

    def __init__(self, url: str) -> None:
        address = url.replace("unix://", "redis+unix://", 1) if url.startswith("unix:") else url
        self._storage = storage_from_string(address, **TIMEOUTS)
        self._limiter = MovingWindowRateLimiter(self._storage)

    def ping(self) -> bool:
        """Return True if the server responds. Raises RedisError, OSError."""
        return bool(self._storage.check())

    def wait_s(self, rate: Rate, name: str) -> int:
        item = _item(rate)
        return 0 if self._limiter.test(item, name) else self._remaining_s(item, name)

    def take(self, rate: Rate, name: str) -> int:
        item = _item(rate)
        return 0 if self._limiter.hit(item, name) else self._remaining_s(item, name)

    def clear(self, rate: Rate, name: str) -> None:
        self._limiter.clear(_item(rate), name)

    def _remaining_s(self, item: RateLimitItem, name: str) -> int:
        return max(1, math.ceil(self._limiter.get_window_stats(item, name).reset_time - time.time()))


def _item(rate: Rate) -> RateLimitItem:
    return RateLimitItemPerSecond(rate.times, rate.per_s, namespace="galley")
