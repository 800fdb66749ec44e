"""Tests of the countries by code and by name."""

import pycountry
import pytest

from app.resources.user.countries import AmbiguousCountry, country_code


class TestCountryCode:
    @pytest.mark.parametrize("text", ["DE", "de", " De ", "Germany", "GERMANY", "Federal Republic of Germany"])
    def test_code_and_english_names_return_the_code(self, text: str) -> None:
        assert country_code(text) == "DE"

    @pytest.mark.parametrize(
        ("name", "code"),
        [
            ("South Korea", "KR"),
            ("Korea, South", "KR"),
            ("Korea (North)", "KP"),
            ("Korea, Republic of", "KR"),
            ("Republic of Korea", "KR"),
            ("Korea (the Democratic People's Republic of)", "KP"),
            ("Democratic Republic of the Congo", "CD"),
            ("Congo, the Democratic Republic of the", "CD"),
            ("Congo (Kinshasa)", "CD"),
            ("Republic of the Congo", "CG"),
            ("Congo (Brazzaville)", "CG"),
            ("Russia", "RU"),
            ("Türkiye", "TR"),
            ("Turkey", "TR"),
            ("Cote d'Ivoire", "CI"),
            ("Côte d’Ivoire", "CI"),
            ("Bosnia and Herzegovina", "BA"),
            ("St. Kitts & Nevis", "KN"),
            ("U.S. Virgin Islands", "VI"),
            ("United States", "US"),
            ("USA", "US"),
            ("United Kingdom", "GB"),
            ("The Gambia", "GM"),
            ("Bahamas (the)", "BS"),
            ("Iran (Islamic Republic of)", "IR"),
            ("Guinea", "GN"),
            ("Equatorial Guinea", "GQ"),
            ("Dominica", "DM"),
            ("Dominican Republic", "DO"),
        ],
    )
    def test_common_and_official_names_return_the_code(self, name: str, code: str) -> None:
        assert country_code(name) == code

    @pytest.mark.parametrize("name", ["Korea", " congo ", "Congo (the)", "Virgin Islands"])
    def test_name_of_several_countries_raises_ambiguous_country(self, name: str) -> None:
        with pytest.raises(AmbiguousCountry, match="ambiguous"):
            country_code(name)

    def test_iso_name_returns_its_own_code(self) -> None:
        for country in pycountry.countries:
            if country.name != "Congo":
                assert country_code(country.name) == country.alpha_2

    @pytest.mark.parametrize("text", ["", "ZZ", "XX", "DEU", "276", "world", "Europe", "Atlantis", "D", "the", "."])
    def test_unknown_text_returns_none(self, text: str) -> None:
        assert country_code(text) is None
