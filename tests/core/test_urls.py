"""Addresses that are none."""

import pytest

from app.core.urls import origin_of, parts_of


class TestPartsOf:
    @pytest.mark.parametrize("url", ["http://[::1", "//a]b", "http://[x]/"])
    def test_what_cannot_be_taken_apart_has_no_parts(self, url: str) -> None:
        assert "".join(parts_of(url)) == ""

    def test_an_address_has_its_parts(self) -> None:
        assert parts_of("https://app.example.org/a?b").netloc == "app.example.org"


class TestOriginOf:
    @pytest.mark.parametrize(
        ("url", "origin"),
        [
            ("HTTPS://CMS.Example.org/app?x#y", "https://cms.example.org"),
            ("https://cms.example.org:443", "https://cms.example.org"),
            ("http://cms.example.org:443", "http://cms.example.org:443"),
            ("http://[::1]:80/", "http://[::1]"),
        ],
    )
    def test_is_written_as_browsers_do(self, url: str, origin: str) -> None:
        assert origin_of(url) == origin

    @pytest.mark.parametrize(
        "url",
        ["", "null", "a.org", "//a.org", "http://", "http://[::1", "http://a:b", "http://a:0", "https://me@a.org"],
    )
    def test_of_what_has_none_is_empty(self, url: str) -> None:
        assert origin_of(url) == ""
