"""Tests of interface languages and time zones."""

import pytest

from app.core.locales import LANGUAGES, is_time_zone


class TestLanguages:
    def test_languages_equal_the_fifteen_of_the_contract(self) -> None:
        assert " ".join(LANGUAGES) == "en zh hi es fr ar bn pt ru id de ja vi ko it"


class TestTimeZones:
    @pytest.mark.parametrize("name", ["UTC", "Europe/Berlin", "America/Argentina/Buenos_Aires", "Asia/Kolkata"])
    def test_iana_name_is_a_time_zone(self, name: str) -> None:
        assert is_time_zone(name)

    @pytest.mark.parametrize(
        "name",
        ["", "europe/berlin", "../../etc/passwd", "/etc/localtime", "localtime", "Europe", "UTC\x00", "Mars/Base"],
    )
    def test_other_text_is_not_a_time_zone(self, name: str) -> None:
        assert not is_time_zone(name)
