"""Rate budgets of Git hosts that all nodes share through Redis."""

import math
from collections.abc import Sequence
from typing import cast

import structlog
from redis import Redis

from app.core.redis_errors import CONNECTION_ERRORS
from app.core.redis_options import RETRY_AFTER_S, TIMEOUTS
from app.core.retry import CircuitBreaker

log = structlog.get_logger(__name__)

PREFIX = "galley:git-rate:"


class RedisBudgets:
    """Exhausted tokens as keys that expire when the token may be used again."""

    def __init__(self, url: str) -> None:
        self._redis = Redis.from_url(url, **TIMEOUTS)
        self._breaker = CircuitBreaker(RETRY_AFTER_S)

    def until(self, keys: Sequence[str]) -> list[float]:
        unknown = [0.0] * len(keys)
        if self._breaker.is_open:
            return unknown
        try:
            values = cast("list[bytes | None]", self._redis.mget([PREFIX + key for key in keys]))
        except CONNECTION_ERRORS:
            self._fail()
            return unknown
        return [float(until or 0) for until in values]

    def close(self, key: str, until: float) -> None:
        if self._breaker.is_open:
            return
        try:
            self._redis.set(PREFIX + key, until, exat=math.ceil(until))
        except CONNECTION_ERRORS:
            self._fail()

    def _fail(self) -> None:
        log.warning("git_rate.redis_unavailable", rests_s=RETRY_AFTER_S)
        self._breaker.trip()
