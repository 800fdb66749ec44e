"""An application whose Git hosts are doubles."""

from collections.abc import Iterator

import pytest
from flask import Flask

from tests.git_hosts import Hosts, hosted_application


@pytest.fixture(scope="session")
def hosted(store: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Flask, Hosts]]:
    """The application and its hosts."""
    with hosted_application(store, tmp_path_factory.mktemp("hosted")) as made:
        yield made


@pytest.fixture(scope="session")
def app(hosted: tuple[Flask, Hosts]) -> Flask:
    """The application."""
    return hosted[0]


@pytest.fixture
def hosts(hosted: tuple[Flask, Hosts]) -> Iterator[Hosts]:
    """The hosts, with a clean journal and no faults."""
    found = hosted[1]
    for double in (found.github, found.gitlab):
        double.journal.clear()
        double.faults.clear()
        double.latency_s = 0.0
    yield found
    assert found.github.violations == []
