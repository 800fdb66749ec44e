"""Fixtures of the benchmarks of large sites."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from flask import Flask

from tests.bench import large
from tests.conftest import postgresql_database


@pytest.fixture(params=["sqlite", "postgresql"])
def app(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Flask]:
    """Build the application on each database, without log output."""
    if request.param == "sqlite":
        with large.application(tmp_path, f"sqlite:///{tmp_path}/app.db") as made:
            yield made
        return
    with postgresql_database() as url, large.application(tmp_path, url) as made:
        yield made
