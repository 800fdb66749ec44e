"""Tests of the functions for URLs."""

import pytest

from app.core.urls import origin_of, split_url


class TestSplitUrl:
    @pytest.mark.parametrize("url", ["http://[::1", "//a]b", "http://[x]/"])
    def test_malformed_url_has_no_parts(self, url: str) -> None:
        assert "".join(split_url(url)) == ""

    def test_valid_url_returns_its_parts(self) -> None:
        assert split_url("https://app.example.org/a?b").netloc == "app.example.org"


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
    def test_origin_has_the_form_of_browsers(self, url: str, origin: str) -> None:
        assert origin_of(url) == origin

    @pytest.mark.parametrize(
        "url",
        ["", "null", "a.org", "//a.org", "http://", "http://[::1", "http://a:b", "http://a:0", "https://me@a.org"],
    )
    def test_url_without_origin_returns_an_empty_text(self, url: str) -> None:
        assert origin_of(url) == ""
