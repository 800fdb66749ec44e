"""Tests of the circuit breaker."""

import time

from app.core.circuit_breaker import CircuitBreaker


class TestCircuitBreaker:
    def test_breaker_is_open_for_its_time_after_a_failure(self) -> None:
        breaker = CircuitBreaker(0.05)
        assert not breaker.is_open
        breaker.trip()
        assert breaker.is_open
        time.sleep(0.06)
        assert not breaker.is_open
