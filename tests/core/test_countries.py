"""Countries by code and by name."""

import pytest

from app.core.countries import country_code


class TestCountryCode:
    @pytest.mark.parametrize("text", ["DE", "de", " De ", "Germany", "GERMANY", "Federal Republic of Germany"])
    def test_a_code_and_the_english_names_give_the_code(self, text: str) -> None:
        assert country_code(text) == "DE"

    @pytest.mark.parametrize(
        ("name", "code"),
        [
            ("South Korea", "KR"),
            ("Korea, Republic of", "KR"),
            ("Russia", "RU"),
            ("Türkiye", "TR"),
            ("Turkey", "TR"),
            ("Cote d'Ivoire", "CI"),
            ("Côte d’Ivoire", "CI"),
            ("Bosnia and Herzegovina", "BA"),
            ("United States", "US"),
            ("United Kingdom", "GB"),
        ],
    )
    def test_everyday_and_official_names_are_known(self, name: str, code: str) -> None:
        assert country_code(name) == code

    @pytest.mark.parametrize("text", ["", "ZZ", "XX", "DEU", "276", "world", "Europe", "Atlantis", "D"])
    def test_what_is_no_country_has_no_code(self, text: str) -> None:
        assert country_code(text) is None
