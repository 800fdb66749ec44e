"""Fixtures of the tests of marks."""

import pytest

from tests.support.visible_marks import Marker


@pytest.fixture
def marker() -> Marker:
    return Marker()
