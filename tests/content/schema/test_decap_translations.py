"""Translations of Decap CMS."""

from typing import Any

import pytest

from app.content.schema.decap_translations import read_translations
from app.content.schema.model import FieldType, SchemaField

SITE = {"structure": "single_file", "locales": ["en", "de", "en", 5, ""], "default_locale": "de"}


class TestReadTranslations:
    def test_default_locale_is_first_and_locales_are_unique(self) -> None:
        assert read_translations(SITE, True).locales == ("de", "en")

    def test_own_settings_replace_those_of_the_site(self) -> None:
        assert read_translations(SITE, {"structure": "multiple_folders"}).has_folders

    @pytest.mark.parametrize(
        ("site", "own"),
        [
            (None, True),
            (SITE, None),
            (SITE, False),
            (SITE, "yes"),
            ({"locales": ["en"]}, True),
            ([], {}),
            (SITE | {"locales": 5}, True),
        ],
    )
    def test_missing_or_invalid_settings_are_no_translations(self, site: Any, own: Any) -> None:
        field = SchemaField("title", FieldType.STRING, required=True)
        assert read_translations(site, own).localized([field]) == (field,)
