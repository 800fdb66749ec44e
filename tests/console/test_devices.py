"""Names of browsers and systems from user agents."""

import pytest
from flask import Flask

from app.console.account.profile import device_name

pytestmark = pytest.mark.one_database

MAC, WINDOWS = "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7)", "Mozilla/5.0 (Windows NT 10.0; Win64; x64)"
CHROME = "AppleWebKit/537.36 (KHTML, like Gecko) Chrome/131.0.0.0 Safari/537.36"
IPHONE = "Mozilla/5.0 (iPhone; CPU iPhone OS 18_1 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko)"


@pytest.mark.parametrize(
    ("user_agent", "expected"),
    [
        (f"{MAC} AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.1 Safari/605.1.15", "Safari on macOS"),
        (f"{WINDOWS} {CHROME}", "Chrome on Windows"),
        (f"{WINDOWS} {CHROME} Edg/131.0.2903.86", "Edge on Windows"),
        ("Mozilla/5.0 (X11; Linux x86_64; rv:133.0) Gecko/20100101 Firefox/133.0", "Firefox on Linux"),
        (f"Mozilla/5.0 (Linux; Android 14; Pixel 8) {CHROME}", "Chrome on Android"),
        (f"{IPHONE} CriOS/131.0 Mobile/15E148 Safari/604.1", "Chrome on iOS"),
        ("Firefox/133.0", "Firefox"),
        ("curl/8.5.0", "curl/8.5.0"),
        ("", "Unknown"),
        (None, "Unknown"),
    ],
)
def test_device_name_contains_browser_and_system(app: Flask, user_agent: str | None, expected: str) -> None:
    with app.test_request_context():
        assert device_name(user_agent) == expected
