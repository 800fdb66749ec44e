"""Tests of the sandbox lease: arithmetic and the clock of the database."""

from datetime import UTC, datetime, timedelta

import pytest
from flask import Flask

from app.core import clock
from app.core.limits import SandboxLimits
from app.resources.sandbox import service

LIMITS = SandboxLimits()
MADE = datetime(2026, 11, 20, 10, 0, tzinfo=UTC)


def at(seconds: float) -> datetime:
    return MADE + timedelta(seconds=seconds)


class TestExpiry:
    def test_new_sandbox_expires_after_ten_minutes(self) -> None:
        assert service.at_create(MADE, LIMITS) == at(600)

    @pytest.mark.parametrize(
        ("expires", "now", "expected"),
        [
            (600, 0, 600),
            (600, 100, 700),
            (600, 300, 900),
            (600, 599, 900),
            (900, 301, 901),
            (3500, 3300, 3600),
            (3600, 3599, 3600),
        ],
        ids=[
            "never past ten minutes from now, at once",
            "never past ten minutes from now, soon",
            "five minutes are added",
            "five minutes are added to what is nearly over",
            "a second beat adds what is missing to ten minutes",
            "never past an hour from its making",
            "at its last second nothing is added and nothing taken",
        ],
    )
    def test_heartbeat_extends_the_expiry_within_its_bounds(self, expires: int, now: int, expected: int) -> None:
        assert service.extend_on_heartbeat(at(expires), MADE, at(now), LIMITS) == at(expected)

    @pytest.mark.parametrize(("now", "expected"), [(0, 600), (200, 800), (3200, 3600)])
    def test_connection_extends_the_expiry_to_ten_minutes_within_the_hour(self, now: int, expected: int) -> None:
        assert service.extend_on_connect(at(600), MADE, at(now), LIMITS) == max(at(600), at(expected))

    def test_heartbeats_every_minute_extend_the_expiry_to_one_hour(self) -> None:
        expires = service.at_create(MADE, LIMITS)
        for minute in range(1, 61):
            now = at(minute * 60)
            assert expires >= now
            expires = service.extend_on_heartbeat(expires, MADE, now, LIMITS)
            assert expires <= now + timedelta(seconds=600)
        assert expires == at(3600)


class TestNow:
    def test_now_is_the_database_time_with_the_shift(self, app: Flask) -> None:
        with app.app_context():
            assert abs((service.database_now() - datetime.now(UTC)).total_seconds()) < 2
            with clock.shifted(timedelta(hours=3)):
                assert abs((service.database_now() - datetime.now(UTC)).total_seconds() - 3 * 3600) < 2
