"""Addresses that are none."""

import pytest

from app.core.urls import parts_of


class TestPartsOf:
    @pytest.mark.parametrize("url", ["http://[::1", "//a]b", "http://[x]/"])
    def test_what_cannot_be_taken_apart_has_no_parts(self, url: str) -> None:
        assert "".join(parts_of(url)) == ""

    def test_an_address_has_its_parts(self) -> None:
        assert parts_of("https://app.example.org/a?b").netloc == "app.example.org"
