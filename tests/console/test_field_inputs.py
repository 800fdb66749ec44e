"""Tests of the conversion between values and texts of inputs."""

from typing import Any

import pytest
from flask import Flask, g

from app.console.files.field_inputs import (
    REMOVED,
    UNCHANGED,
    InputKind,
    input_text,
    is_date,
    is_moment,
    kind_of,
    sent_value,
    zone_of,
)

pytestmark = pytest.mark.one_database

MOMENT = "2026-05-27T10:30:00+02:00"


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        (True, InputKind.CHECKBOX),
        (3, InputKind.NUMBER),
        (None, InputKind.TEXT),
        ("a", InputKind.TEXT),
        ("a\nb", InputKind.LONG),
        ("x" * 101, InputKind.LONG),
        (["a", "b"], InputKind.LINES),
        ([], InputKind.LINES),
        (["a "], InputKind.JSON),
        ([1], InputKind.JSON),
        ({"a": 1}, InputKind.JSON),
    ],
)
def test_kind_follows_the_value(value: object, kind: InputKind) -> None:
    assert kind_of(value) is kind


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        (InputKind.TEXT, "a"),
        (InputKind.TEXT, None),
        (InputKind.TEXT, 7),
        (InputKind.LONG, "a\nb"),
        (InputKind.NUMBER, 1.5),
        (InputKind.DATE, "2026-05-27"),
        (InputKind.DATETIME, MOMENT),
        (InputKind.DATETIME, "2026-05-27 10:30"),
        (InputKind.LINES, ["a", "b"]),
        (InputKind.LINES, None),
        (InputKind.SELECT, "x"),
        (InputKind.JSON, {"a": [1]}),
        (InputKind.NUMBER, None),
    ],
)
def test_shown_text_sent_back_is_no_change(kind: InputKind, value: Any) -> None:
    assert sent_value(kind, value, [input_text(kind, value).replace("\n", "\r\n")]) is UNCHANGED


@pytest.mark.parametrize(
    ("kind", "old", "sent", "value"),
    [
        (InputKind.TEXT, "a", "", ""),
        (InputKind.NUMBER, 1, " 2.5 ", 2.5),
        (InputKind.NUMBER, 1, "", REMOVED),
        (InputKind.RELATION, "jane", "", REMOVED),
        (InputKind.RELATION, "jane", " bob ", "bob"),
        (InputKind.DATE, "2026-05-27", "2026-06-01", "2026-06-01"),
        (InputKind.DATE, "2026-05-27", "", REMOVED),
        (InputKind.DATETIME, MOMENT, "2026-06-01T08:00", "2026-06-01T08:00:00+02:00"),
        (InputKind.DATETIME, "2026-05-27 10:30", "2026-06-01T08:00", "2026-06-01 08:00"),
        (InputKind.LINES, ["a"], "a\r\n\r\n b ", ["a", "b"]),
        (InputKind.SELECT, None, "1", 1),
        (InputKind.JSON, [1], "[1, 2]", [1, 2]),
    ],
)
def test_sent_text_becomes_a_value_of_its_kind(kind: InputKind, old: Any, sent: str, value: Any) -> None:
    assert sent_value(kind, old, [sent]) == value


@pytest.mark.parametrize(
    ("value", "notation", "zone"),
    [
        ("2026-06-01T08:00:00+02:00", "", "+02:00"),
        ("2026-06-01T08:00:00Z", "dd.MM.yyyy HH:mm", "Z"),
        ("2026-06-01T08:00:00", "", ""),
        (None, "", "Asia/Tokyo"),
        (None, "2026-06-01T08:00:00Z", "Asia/Tokyo"),
        (None, "2026-06-01 08:00", ""),
        (None, "dd.MM.yyyy HH:mm", ""),
        ("01.06.2026 08:00", "dd.MM.yyyy HH:mm", ""),
        (None, "dd.MM.yyyy HH:mm xxx", "Asia/Tokyo"),
        ("01.06.2026 08:00 -03:00", "dd.MM.yyyy HH:mm xxx", "UTC-03:00"),
        (1_780_000_000, "t", "Asia/Tokyo"),
    ],
)
def test_zone_of_a_time_is_its_own_or_that_in_which_a_new_one_is_written(
    app: Flask, value: object, notation: str, zone: str
) -> None:
    with app.test_request_context():
        g.console_timezone = "Asia/Tokyo"
        assert zone_of(value, notation) == zone


def test_new_moment_has_the_offset_of_the_user(app: Flask) -> None:
    with app.test_request_context():
        g.console_timezone = "Asia/Tokyo"
        assert sent_value(InputKind.DATETIME, None, ["2026-06-01T08:00"]) == "2026-06-01T08:00:00+09:00"


@pytest.mark.parametrize(
    ("old", "notation", "sent", "value"),
    [
        (None, "2014-03-12 10:11:00 -0400", "2026-06-01T08:00", "2026-06-01 08:00:00 +0900"),
        (None, "2014-03-12T10:11:00Z", "2026-06-01T08:00", "2026-05-31T23:00:00Z"),
        (None, "2014-03-12T10:11:00.000+02:00", "2026-06-01T08:00", "2026-06-01T08:00:00.000+09:00"),
        (None, "2014-03-12T10:11", "2026-06-01T08:00", "2026-06-01T08:00"),
        ("2014-03-12 10:11 +02:00", "2014-03-12", "2026-06-01T08:00", "2026-06-01 08:00 +02:00"),
        (None, "MM/dd/yyyy h:mm a", "2026-06-01T18:00", "06/01/2026 6:00 PM"),
        ("6/1/2026 6:00 PM", "M/d/yyyy h:mm a", "2026-06-02T18:00", "6/2/2026 6:00 PM"),
        ("2014-03-12", "dd/MM/yyyy HH:mm", "2026-06-01T08:00", "2026-06-01T08:00:00+09:00"),
        (None, "t", "2026-06-01T08:00", 1780268400),
        ("1780268400", "t", "2026-06-01T09:00", "1780272000"),
        (None, "no format", "2026-06-01T08:00", "2026-06-01T08:00:00+09:00"),
    ],
)
def test_new_date_has_the_notation_of_the_folder_or_the_schema(
    app: Flask, old: Any, notation: str, sent: str, value: object
) -> None:
    with app.test_request_context():
        g.console_timezone = "Asia/Tokyo"
        assert sent_value(InputKind.DATETIME, old, [sent], notation) == value


@pytest.mark.parametrize("old", ["12. march 2026", "12. March 2026"])
def test_equal_day_in_a_format_keeps_its_spelling(app: Flask, old: str) -> None:
    with app.test_request_context():
        assert sent_value(InputKind.DATE, old, ["2026-03-12"], "dd. MMMM yyyy") is UNCHANGED
        assert sent_value(InputKind.DATE, old, ["2026-03-13"], "dd. MMMM yyyy") == "13. March 2026"


def test_checkbox_without_a_value_is_false() -> None:
    assert sent_value(InputKind.CHECKBOX, True, []) is False
    assert sent_value(InputKind.CHECKBOX, None, []) is UNCHANGED
    assert sent_value(InputKind.CHECKBOX, None, ["1"]) is True


def test_choices_keep_the_order_of_the_file() -> None:
    assert sent_value(InputKind.CHOICES, ["b", "a"], ['"a"', '"b"']) is UNCHANGED
    assert sent_value(InputKind.CHOICES, ["b", "a"], ['"a"', '"b"', '"c"']) == ["b", "a", "c"]
    assert sent_value(InputKind.CHOICES, None, []) is UNCHANGED
    assert sent_value(InputKind.CHOICES, ["b"], []) == []
    assert sent_value(InputKind.CHOICES, [1, "1", True], ["1", '"1"', "true"]) is UNCHANGED
    assert sent_value(InputKind.CHOICES, [1, "1", True], ["1"]) == [1]
    assert repr(sent_value(InputKind.CHOICES, [True], ["1"])) == "[1]"


@pytest.mark.parametrize(
    ("kind", "sent"),
    [
        (InputKind.NUMBER, "x"),
        (InputKind.NUMBER, "true"),
        (InputKind.NUMBER, "1e999"),
        (InputKind.NUMBER, "NaN"),
        (InputKind.DATE, "2026-02-30"),
        (InputKind.DATETIME, "2026-02-30T10:00"),
        (InputKind.DATETIME, "2026-02-03"),
        (InputKind.JSON, "{"),
    ],
)
def test_text_of_another_kind_is_refused(app: Flask, kind: InputKind, sent: str) -> None:
    with app.test_request_context(), pytest.raises(ValueError):
        sent_value(kind, None, [sent])


def test_dates_and_moments_are_those_of_the_browser() -> None:
    assert is_date("2026-05-27")
    assert not is_date("2026-5-27")
    assert not is_date("20260527xx")
    assert is_moment(MOMENT)
    assert not is_moment("2026-05-27")
    assert not is_moment("2026-05-27T25:00:00Z")
