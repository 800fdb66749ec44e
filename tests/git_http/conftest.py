"""Fixtures of the tests of Git over HTTP: a running server, and a project on a local repository."""

from collections.abc import Iterator

import pytest

from tests.git_http.client import GitClient, Site
from tests.support.servers.service import Service


@pytest.fixture(scope="module")
def service(store: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """Run gunicorn with one worker. Its jobs run in this process.

    The path of its temporary folder is longer than the address of a socket can be.
    """
    home = tmp_path_factory.mktemp("git")
    (temporary := home / ("t" * 120)).mkdir()
    settings = {"DATABASE_URL": store, "GIT_MAX_PUSH_MB": "2", "GIT_HTTP_PROCESSES": "3", "TMPDIR": str(temporary)}
    with (home / "log").open("wb") as log, Service(home, workers=1, log=log, **settings) as running:
        yield running


@pytest.fixture
def site(service: Service) -> Iterator[Site]:
    """Return a new project with an owner, on a repository with one commit."""
    new_site = Site(service)
    yield new_site
    service.world.drop_jobs()


@pytest.fixture
def git(tmp_path_factory: pytest.TempPathFactory) -> GitClient:
    """Return a Git client with an empty folder."""
    return GitClient(tmp_path_factory.mktemp("clones"))
