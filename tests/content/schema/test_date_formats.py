"""Formats of dates in schema files."""

from datetime import datetime, timedelta, timezone

import pytest

from app.content.schema.date_formats import formatted, has_format, is_format, unicode_format

NOW = datetime(2026, 11, 3, 8, 5, 9, tzinfo=timezone(timedelta(hours=1)))


class TestDateFormats:
    @pytest.mark.parametrize(
        ("date_format", "text"),
        [
            ("yyyy-MM-dd", "2026-11-03"),
            ("d.M.yy H:m", "3.11.26 8:5"),
            ("dd/MM/yyyy hh:mm a", "03/11/2026 08:05 AM"),
            ("EEEE, d MMMM y", "Tuesday, 3 November 2026"),
            ("yyyy-MM-dd'T'HH:mm:ss.SSSxxx", "2026-11-03T08:05:09.000+01:00"),
            ("yyyyMMdd'T'HHmmssxx", "20261103T080509+0100"),
            ("'it''s' yyyy", "it's 2026"),
            ("t", "1793689509"),
        ],
    )
    def test_date_in_a_format_is_read_and_written(self, date_format: str, text: str) -> None:
        assert formatted(NOW, date_format) == text
        assert has_format(text, date_format)
        assert not has_format(f"{text}!", date_format)

    @pytest.mark.parametrize(
        ("moment", "date_format"),
        [
            ("YYYY-MM-DD", "yyyy-MM-dd"),
            ("DD/MM/YY HH:mm", "dd/MM/yy HH:mm"),
            ("YYYY-MM-DDTHH:mm:ssZ", "yyyy-MM-dd'T'HH:mm:ssxxx"),
            ("MMM D, YYYY [at] h:mm A", "MMM d, yyyy 'at' h:mm a"),
            ("[it's]", "'it''s'"),
            ("X", "t"),
            ("YYYY [open", "yyyy 'open'"),
        ],
    )
    def test_format_of_moment_has_letters_of_unicode(self, moment: str, date_format: str) -> None:
        assert unicode_format(moment) == date_format

    @pytest.mark.parametrize("text", ["", "Q", "gggg", "Y" * 61])
    def test_unknown_format_is_none(self, text: str) -> None:
        assert unicode_format(text) is None

    def test_unknown_letters_are_no_format(self) -> None:
        assert [is_format(text) for text in ("dd.MM", "foo", "")] == [True, False, False]
        assert formatted(NOW, "foo") is None
        assert not has_format("foo", "foo")
