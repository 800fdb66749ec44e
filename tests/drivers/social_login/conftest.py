"""The double of both providers."""

from collections.abc import Iterator

import pytest

from tests.doubles.social import SocialDouble


@pytest.fixture
def double() -> Iterator[SocialDouble]:
    """Both providers on loopback."""
    with SocialDouble() as running:
        yield running
