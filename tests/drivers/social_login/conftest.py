"""Fixtures with a double of both providers."""

from collections.abc import Iterator

import pytest

from tests.support.doubles.social import SocialDouble


@pytest.fixture
def double() -> Iterator[SocialDouble]:
    """Start both providers on loopback."""
    with SocialDouble() as running:
        yield running
