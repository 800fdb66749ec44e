"""Dates and lengths of time in the languages of the console."""

from datetime import UTC, datetime, timedelta

import pytest
from flask import Flask, g

from app.console.shell.dates import ago, in_zone, relative, shown_zone
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


@pytest.mark.parametrize(
    ("zone", "text"),
    [
        ("Z", "GMT+00:00"),
        ("z", "GMT+00:00"),
        ("UTC", "GMT+00:00"),
        ("+02:00", "GMT+02:00"),
        ("-0930", "GMT-09:30"),
        ("UTC+02:00", "GMT+02:00"),
        ("America/New_York", "America/New York"),
        ("Zulu", "Zulu"),
    ],
)
def test_zone_is_named_for_a_reader(zone: str, text: str) -> None:
    assert shown_zone(zone, "en") == text


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


@pytest.mark.parametrize(
    ("moment", "expected"),
    [
        ("2027-03-28T00:59:00Z", "Sunday, March 28, 2027, 1:59 AM"),
        ("2027-03-28T01:00:00Z", "Sunday, March 28, 2027, 3:00 AM"),
        ("2027-10-31T00:30:00Z", "Sunday, October 31, 2027, 2:30 AM (GMT+02:00)"),
        ("2027-10-31T01:30:00Z", "Sunday, October 31, 2027, 2:30 AM (GMT+01:00)"),
    ],
)
def test_time_has_its_offset_if_the_clocks_show_it_twice(moment: str, expected: str) -> None:
    assert in_zone(moment, "Europe/Berlin", "en").replace("\u202f", " ") == expected
