"""Fixtures of the tests of resources."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from datetime import timedelta

import pytest
from flask import Flask

from app.core import clock
from tests.support.git_hosts import Hosts, hosted_application
from tests.support.new_account import Newcomer
from tests.support.world import World


@pytest.fixture
def later() -> Callable[..., AbstractContextManager[None]]:
    """A function that shifts the clock of this thread in a `with` block. Jobs run in other threads without the shift."""

    def move(**by: float) -> AbstractContextManager[None]:
        return clock.shifted(timedelta(**by))

    return move


@pytest.fixture
def newcomer(app: Flask, world: World) -> Callable[..., Newcomer]:
    """A function that creates users without an account."""

    def make(address: str | None = None) -> Newcomer:
        return Newcomer(app, world, address)

    return make


@pytest.fixture(scope="session")
def hosted(store: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Flask, Hosts]]:
    """An application whose Git hosts are doubles, with the doubles. Modules return it from their fixture `app`."""
    with hosted_application(store, tmp_path_factory.mktemp("hosted")) as made:
        yield made


def _reset(found: Hosts) -> None:
    for double in (found.github, found.gitlab):
        double.journal.clear()
        double.faults.clear()
        double.latency_s = 0.0


@pytest.fixture
def hosts(hosted: tuple[Flask, Hosts]) -> Iterator[Hosts]:
    """The doubles, with clean journals and no faults."""
    found = hosted[1]
    _reset(found)
    yield found
    _reset(found)
    assert found.github.violations == []
