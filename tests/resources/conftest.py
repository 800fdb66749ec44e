"""Fixtures of the resources' tests."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from datetime import timedelta

import pytest
from flask import Flask

from app.core import clock
from tests.newcomer import Newcomer
from tests.world import World


@pytest.fixture
def later() -> Callable[..., AbstractContextManager[None]]:
    """Moves the clock of this thread for a `with` block; jobs run in other threads, by the true time."""

    def move(**by: float) -> AbstractContextManager[None]:
        return clock.moved(timedelta(**by))

    return move


@pytest.fixture
def newcomer(app: Flask, world: World) -> Callable[..., Newcomer]:
    """Makes newcomers."""

    def make(address: str | None = None) -> Newcomer:
        return Newcomer(app, world, address)

    return make
