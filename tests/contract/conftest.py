"""The application of the contract tests: every optional area switched on."""

from collections.abc import Iterator

import pytest
from flask import Flask

from tests.apps import another_database, application
from tests.contract.outside import Outside


@pytest.fixture(scope="session")
def app(store: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Flask]:
    """An application of their own, with the outer world it talks to."""
    home = tmp_path_factory.mktemp("contract")
    with (
        Outside() as outside,
        another_database(store, home) as url,
        application(outside.settings(url, home)) as made,
    ):
        made.extensions["outside"] = outside
        yield made
