"""Dates and lengths of time in the languages of the console."""

from datetime import UTC, datetime, timedelta

import pytest
from flask import Flask, g

from app.console.shell.dates import ago, relative
from app.core import clock
from app.core.locales import LANGUAGES

pytestmark = pytest.mark.one_database

PAST = datetime(2026, 2, 1, 23, 30, tzinfo=UTC)


@pytest.mark.parametrize(
    ("language", "expected"),
    [("en", "Feb 1, 2026"), ("de", "1. Feb. 2026"), ("ja", "2026年2月1日"), ("ar", "1 فبراير 2026")],
)
def test_relative_of_an_old_moment_is_the_date_of_the_language(app: Flask, language: str, expected: str) -> None:
    with app.test_request_context():
        assert relative(PAST, language) == expected


def test_relative_uses_the_time_zone_of_the_user(app: Flask) -> None:
    with app.test_request_context():
        g.console_timezone = "Asia/Tokyo"
        assert relative(PAST, "en") == "Feb 2, 2026"


@pytest.mark.parametrize("language", LANGUAGES)
def test_date_and_age_exist_in_every_language(app: Flask, language: str) -> None:
    with app.test_request_context():
        assert "2026" in relative(PAST, language)
        assert "5" in ago(300, language)
        assert relative(clock.now() - timedelta(minutes=5), language) == ago(300, language)
