"""What one node learned of a Git host's limits, told to the others through Redis."""

import math
from collections.abc import Sequence
from typing import cast

import structlog
from redis import Redis

from app.core.breaker import CircuitBreaker
from app.core.redis_use import FAILURES, REST_S, TIMEOUTS

log = structlog.get_logger(__name__)

PREFIX = "galley:git-rate:"


class RedisBoard:
    """Closed tokens as keys that end when the token opens again; see `Board`."""

    def __init__(self, url: str) -> None:
        self._redis = Redis.from_url(url, **TIMEOUTS)
        self._breaker = CircuitBreaker(REST_S)

    def until(self, keys: Sequence[str]) -> list[float]:
        """See `Board`."""
        unknown = [0.0] * len(keys)
        if self._breaker.is_open:
            return unknown
        try:
            told = cast("list[bytes | None]", self._redis.mget([PREFIX + key for key in keys]))
        except FAILURES:
            self._fail()
            return unknown
        return [float(until or 0) for until in told]

    def close(self, key: str, until: float) -> None:
        """See `Board`."""
        if self._breaker.is_open:
            return
        try:
            self._redis.set(PREFIX + key, until, exat=math.ceil(until))
        except FAILURES:
            self._fail()

    def _fail(self) -> None:
        log.warning("git_rate.redis_unavailable", rests_s=REST_S)
        self._breaker.trip()
