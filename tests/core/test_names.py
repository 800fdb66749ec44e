"""Tests of the rules for names."""

import pytest

from app.core.names import clean_name, name_error

URLS = [
    "http://evil.example.org",
    "Ada https://evil.example.org/login",
    "ftp://x",
    "HTTPS://EVIL.EXAMPLE.ORG",
    "www.evil.example.org",
    "Visit www.evil.example.org now",
    "evil.com/login",
    "evil.com:8080/login",
    "evil.com?next=1",
    "mailto:a@evil.example.org",
    "javascript:/evil",
    "http\uff1a\uff0f\uff0fevil.example.org",
    "ht\u200btp://evil.example.org",
    "www\u3002evil.example.org",
]


class TestNameError:
    @pytest.mark.parametrize(
        "name",
        [
            "Ada",
            "Zoë O'Hara",
            "王小明",
            "שלום\u200f",
            "👩\u200d💻 team",
            "a  b",
            "<3",
            "Dr. Anna Meyer M.Sc.",
            "Node.js",
            "Booking.com",
            "R/V Polarstern",
            "Team: Web/Docs",
            "a.b. c/d",
            "Why? Because!",
        ],
    )
    def test_visible_text_on_one_line_is_valid(self, name: str) -> None:
        assert name_error(name) is None

    @pytest.mark.parametrize("name", ["Ada\nBcc: x", "a\r\nb", "a\tb", "a\x7fb", "a\u2028b", "\u202eevil", "a\u2066b"])
    def test_line_breaks_and_overrides_are_refused(self, name: str) -> None:
        assert name_error(name) == "Must not contain line breaks, control characters or direction overrides."

    @pytest.mark.parametrize("name", ["", "  ", "\u200b", "\u2060 \ufeff"])
    def test_invisible_text_is_refused(self, name: str) -> None:
        assert name_error(name) == "Must not be empty."

    @pytest.mark.parametrize("name", URLS)
    def test_url_is_refused(self, name: str) -> None:
        assert name_error(name) == "Must not contain a URL."


class TestCleanName:
    def test_lines_are_joined(self) -> None:
        assert clean_name(" Ada\r\n\u202eLovelace\t ") == "Ada Lovelace"

    @pytest.mark.parametrize("text", [*URLS, *(f"Ada {url}" for url in URLS), "", "\u200b"])
    def test_result_is_empty_or_valid(self, text: str) -> None:
        cleaned = clean_name(text)
        assert cleaned == "" or name_error(cleaned) is None

    def test_url_is_reduced_to_plain_text(self) -> None:
        assert clean_name("Ada (https://evil.example.org/x)") == "Ada (https evil example org x)"
