"""Debian's Chromium, controlled by Playwright.

The headless shell is preferred. It has the same engine without the windows of the browser and needs less processor time.
"""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from playwright.sync_api import Browser, expect, sync_playwright

PROGRAMS = ("chromium-headless-shell", "chromium")
EXPECT_WITHIN_MS = 60_000
"""The other tests take the processors for seconds."""


@contextmanager
def chromium(*arguments: str) -> Iterator[Browser]:
    """Run the browser for the length of the block. Skip the test without Chromium, except under CI."""
    program = next(filter(None, map(shutil.which, PROGRAMS)), None)
    if program is None:
        assert not os.environ.get("CI"), "Chromium is not installed (Debian: apt-get install chromium-headless-shell)"
        pytest.skip("Chromium is not installed")
    expect.set_options(timeout=EXPECT_WITHIN_MS)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox", *arguments])
        yield browser
        browser.close()
