"""Options and fixtures of all tests: the selection of a part of the suite, the application on each database, and users."""

import gc
import os
import shutil
import uuid
from collections.abc import Iterator

import hypothesis
import psutil
import pytest
import sqlalchemy as sa
from flask import Flask

from app.core.limits import MIB
from config import Settings
from tests.support.applications import application, settings_for
from tests.support.servers.redis import Redis
from tests.support.world import World

# Use the same examples in every run, without a deadline.
hypothesis.settings.register_profile("galley", derandomize=True, deadline=None)
hypothesis.settings.load_profile("galley")

POSTGRESQL = os.environ.get("GALLEY_TEST_POSTGRESQL", "postgresql+psycopg://postgres@127.0.0.1:5432/postgres")
"""Where test databases are made: a server that may be filled and emptied."""

GROWTH_BYTES = 48 * MIB
_collected_at = 0

pytest_plugins = ("tests.support.selection", "tests.support.loopback")


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


class postgresql_database:
    """A new database on the local PostgreSQL server. It is dropped at the end."""

    def __enter__(self) -> str:
        self.name = f"galley_test_{uuid.uuid4().hex[:12]}"
        self.engine = sa.create_engine(POSTGRESQL, isolation_level="AUTOCOMMIT", poolclass=sa.NullPool)
        try:
            with self.engine.connect() as connection:
                connection.execute(sa.text(f"CREATE DATABASE {self.name}"))
                # A test database needs no durability.
                connection.execute(sa.text(f"ALTER DATABASE {self.name} SET synchronous_commit = off"))
        except sa.exc.OperationalError:
            if os.environ.get("CI"):
                raise
            pytest.skip("PostgreSQL is not reachable on 127.0.0.1:5432")
        return POSTGRESQL.removesuffix("postgres") + self.name

    def __exit__(self, *_: object) -> None:
        with self.engine.connect() as connection:
            connection.execute(sa.text(f"DROP DATABASE IF EXISTS {self.name} WITH (FORCE)"))
        self.engine.dispose()


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
    if shutil.which("redis-server") is None:
        pytest.skip("redis-server is not installed")
    running = Redis(tmp_path_factory.mktemp("redis"))
    yield running
    running.stop()


@pytest.fixture
def world(app: Flask) -> Iterator[World]:
    """Return the factory of users and projects. Remove waiting jobs and idle connections at the end."""
    new_world = World(app)
    yield new_world
    new_world.drop_jobs()
    new_world.close_connections()
