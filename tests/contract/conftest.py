"""Application of the contract tests, with every optional area enabled."""

from collections.abc import Iterator

import pytest
from flask import Flask

from tests.contract.outside import Outside
from tests.support.applications import application
from tests.support.databases import another_database


@pytest.fixture(scope="session")
def app(store: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Flask]:
    """Build an application with doubles of all external services."""
    home = tmp_path_factory.mktemp("contract")
    with (
        Outside() as outside,
        another_database(store, home) as url,
        application(outside.settings(url, home)) as flask_app,
    ):
        flask_app.extensions["outside"] = outside
        yield flask_app
