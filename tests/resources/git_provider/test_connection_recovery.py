"""Tests of the limits of attempts to use rejected connections."""

import pytest

from app.resources.git_provider.connection_recovery import FIRST_PAUSE_S, MAX_CONNECTIONS, MAX_PAUSE_S, RecoveryAttempts


class Clock:
    """A monotonic clock that the test sets."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def attempts(clock: Clock) -> RecoveryAttempts:
    return RecoveryAttempts(now=clock)


class TestRecoveryAttempts:
    def test_unknown_connection_may_be_tried_once_per_pause(self, attempts: RecoveryAttempts, clock: Clock) -> None:
        assert attempts.begin("a")
        assert not attempts.begin("a")
        assert attempts.begin("b")
        clock.now += FIRST_PAUSE_S
        assert attempts.begin("a")

    def test_rejected_connection_waits_for_the_first_pause(self, attempts: RecoveryAttempts, clock: Clock) -> None:
        attempts.rejected("a")
        assert not attempts.begin("a")
        clock.now += FIRST_PAUSE_S
        assert attempts.begin("a")

    def test_pause_doubles_up_to_the_maximum(self, attempts: RecoveryAttempts, clock: Clock) -> None:
        attempts.rejected("a")
        pause_s = FIRST_PAUSE_S
        for _ in range(12):
            clock.now += pause_s - 0.5
            assert not attempts.begin("a")
            clock.now += 0.5
            assert attempts.begin("a")
            attempts.rejected("a")
            pause_s = min(2 * pause_s, MAX_PAUSE_S)
        assert pause_s == MAX_PAUSE_S

    def test_success_removes_the_pause(self, attempts: RecoveryAttempts) -> None:
        attempts.rejected("a")
        attempts.succeeded("a")
        assert attempts.begin("a")

    def test_number_of_stored_connections_is_bounded(self, attempts: RecoveryAttempts) -> None:
        for number in range(MAX_CONNECTIONS + 1):
            attempts.rejected(str(number))
        assert attempts.begin("0")
        assert not attempts.begin("2")
