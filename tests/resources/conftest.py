"""Fixtures of the resources' tests."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from datetime import timedelta

import pytest

from app.core import clock


@pytest.fixture
def later() -> Callable[..., AbstractContextManager[None]]:
    """Make `with later(...)` blocks, which move the clock of this thread; jobs run in others, by the true time."""

    def move(**by: float) -> AbstractContextManager[None]:
        return clock.moved(timedelta(**by))

    return move
