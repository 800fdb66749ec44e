"""Tests of the rules for clone URLs."""

import pytest

from app.core.urls import parse_clone_url

HOSTS = ("git.lan", "10.0.0.7:3000")
REFUSED = (
    *(
        "",
        "git@host:a/b",
        "ssh://host/a/b",
        "file:///etc",
        "ext::sh -c id",
        "http://example.com/a",
        "https://example.com",
    ),
    *("https://example.com/", "https://u:p@example.com/a", "https://u@example.com/a", "https://example.com./a"),
    *("https://example.com/a?b", "https://example.com/a#b", "https://example.com\\@git.lan/a", "https://[::1]/a"),
    *("https://%6cocalhost/a", "https://example.com:0/a", "https://example.com:70000/a", "https://exa mple.com/a"),
    *("https://example.com/a\n", "https://example.com/--upload-pack=id ", "http://10.0.0.7:3001/a", "-c/a"),
    *("https://ехаmple.com/a", "https://example.com/" + "a" * 1_000),
)


@pytest.mark.parametrize("url", REFUSED)
def test_url_is_refused(url: str) -> None:
    assert parse_clone_url(url, HOSTS) is None


@pytest.mark.parametrize(
    ("url", "host", "port", "is_listed"),
    [
        ("https://Example.com/Owner/docs.git", "example.com", 443, False),
        ("https://example.com:8443/docs/", "example.com", 8443, False),
        ("http://git.lan/docs", "git.lan", 80, True),
        ("http://10.0.0.7:3000/a/docs", "10.0.0.7", 3000, True),
    ],
)
def test_url_is_accepted(url: str, host: str, port: int, is_listed: bool) -> None:
    parts = parse_clone_url(url, HOSTS)
    assert parts is not None
    assert (parts.host, parts.port, parts.is_listed) == (host, port, is_listed)
