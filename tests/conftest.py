"""Options and fixtures of all tests: the selection of a part of the suite, the application on each database, and users."""

import gc
from collections.abc import Iterator

import hypothesis
import psutil
import pytest
from flask import Flask

from app.core.limits import MIB
from config import Settings
from tests.clients.node import provide_node
from tests.support.applications import application, settings_for
from tests.support.databases import migrated_copies, postgresql_database
from tests.support.servers.redis import Redis, redis_server
from tests.support.world import World

# Use the same examples in every run, without a deadline.
hypothesis.settings.register_profile("galley", derandomize=True, deadline=None)
hypothesis.settings.load_profile("galley")

GROWTH_BYTES = 48 * MIB
_collected_at = 0

pytest_plugins = ("tests.support.selection", "tests.support.loopback")


def pytest_configure() -> None:
    """Provide the programs of Node before tests look for them."""
    provide_node()


def pytest_collection_finish() -> None:
    """Exclude the imported modules from the garbage collection, and collect less often."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 20)
    global _collected_at
    _collected_at = _memory_bytes()


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown() -> None:
    """Collect garbage after tests that needed much memory, such as those that build applications."""
    global _collected_at
    if _memory_bytes() > _collected_at + GROWTH_BYTES:
        gc.collect()
        _collected_at = _memory_bytes()


@pytest.hookimpl(tryfirst=True)
def pytest_unconfigure() -> None:
    """Drop the database that other databases were copied from. Collect garbage once: pytest does it ten times after this."""
    migrated_copies.drop()
    gc.collect()
    gc.freeze()


def _memory_bytes() -> int:
    return int(psutil.Process().memory_info().rss)


@pytest.fixture(scope="session", params=["sqlite", "postgresql"])
def store(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Return the URL of an empty database. Tests that use it run on both databases."""
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path_factory.mktemp('store')}/app.db"
        return
    with postgresql_database() as url:
        yield url


@pytest.fixture(scope="session")
def settings(store: str, tmp_path_factory: pytest.TempPathFactory) -> Settings:
    """Return the settings of the tested application."""
    home = tmp_path_factory.mktemp("instance")
    return settings_for(home, store)


@pytest.fixture(scope="session")
def app(settings: Settings) -> Iterator[Flask]:
    """Return the application on a migrated database."""
    with application(settings) as flask_app:
        yield flask_app


@pytest.fixture(scope="module")
def redis(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Redis]:
    """Return a running Redis server."""
    with redis_server(tmp_path_factory.mktemp("redis")) as running:
        yield running


@pytest.fixture
def world(app: Flask) -> Iterator[World]:
    """Return the factory of users and projects. Remove waiting jobs and idle connections at the end."""
    new_world = World(app)
    yield new_world
    new_world.drop_jobs()
    new_world.close_connections()
