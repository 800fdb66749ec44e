"""Fixtures of the sign-in tests."""

from collections.abc import Callable

import pytest


@pytest.fixture
def wrong() -> Callable[[str], str]:
    """Return a function that changes a code by an offset."""
    return lambda code, by=1: f"{(int(code) + by) % 10**6:06}"
