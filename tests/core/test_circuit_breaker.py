"""Tests of the circuit breaker."""

import time

from app.core.retry import CircuitBreaker


class TestCircuitBreaker:
    def test_breaker_after_a_failure_is_open_for_the_configured_time(self) -> None:
        breaker = CircuitBreaker(0.05)
        assert not breaker.is_open
        breaker.trip()
        assert breaker.is_open
        time.sleep(0.06)
        assert not breaker.is_open
