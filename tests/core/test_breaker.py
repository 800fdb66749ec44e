"""What failed is left alone for a while."""

import time

from app.core.breaker import CircuitBreaker


class TestCircuitBreaker:
    def test_is_closed_until_something_fails_and_again_after_its_rest(self) -> None:
        breaker = CircuitBreaker(0.05)
        assert not breaker.is_open
        breaker.trip()
        assert breaker.is_open
        time.sleep(0.06)
        assert not breaker.is_open
