"""Fixtures of the benchmarks."""

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from flask import Flask

from tests.bench import large
from tests.bench.galley import Galley, galley
from tests.bench.servers import load_on_other_core
from tests.support.databases import postgresql_database


@pytest.fixture(params=["sqlite", "postgresql"])
def app(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Flask]:
    """Build the application on each database, without log output."""
    if request.param == "sqlite":
        with large.application(tmp_path, f"sqlite:///{tmp_path}/app.db") as flask_app:
            yield flask_app
        return
    with postgresql_database() as url, large.application(tmp_path, url) as flask_app:
        yield flask_app


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[Galley]]:
    home = tmp_path_factory.mktemp("servers")
    with ExitStack() as stack:
        stack.enter_context(load_on_other_core())
        url = stack.enter_context(postgresql_database())
        servers = [galley(home / "postgresql", "PostgreSQL", DATABASE_URL=url), galley(home / "sqlite", "SQLite")]
        yield [stack.enter_context(each) for each in servers]
