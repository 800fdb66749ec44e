"""Fixtures of the tests of a running service."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser

from tests.serving.browser import chromium


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Run Chromium."""
    with chromium() as browser:
        yield browser
