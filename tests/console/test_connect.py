"""Connection of an account of a Git host."""

import html
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from config import Settings
from tests.console.test_organizations import submit
from tests.support.applications import application
from tests.support.databases import another_database
from tests.support.git_hosts import Hosts
from tests.support.world import World

pytestmark = pytest.mark.one_database


@pytest.fixture
def hosts(tmp_path: Path) -> Iterator[Hosts]:
    """Run the doubles of both hosts."""
    doubles = Hosts(tmp_path)
    yield doubles
    doubles.close()


@pytest.fixture
def connected(store: str, tmp_path: Path, hosts: Hosts) -> Iterator[World]:
    """An application that knows both hosts."""
    with (
        another_database(store, tmp_path) as url,
        application(Settings.for_tests(tmp_path, DATABASE_URL=url, **hosts.environment())) as made,
    ):
        yield World(made)


@pytest.mark.parametrize("provider", ["github", "gitlab"])
def test_start_returns_a_page_that_leads_to_the_provider(connected: World, hosts: Hosts, provider: str) -> None:
    owner = connected.person()
    organization = owner.new_organization()
    url = f"/console/organizations/{organization}/connect/account?provider={provider}"
    response = submit(owner, url)
    assert (response.status_code, response.headers["Cache-Control"]) == (200, "no-store")
    (target,) = re.findall(r'http-equiv="refresh" content="0; url=([^"]+)"', response.text)
    assert f'href="{target}"' in response.text
    base = hosts.github.url if provider == "github" else hosts.gitlab.url
    assert html.unescape(target).startswith(base)
    assert "state=" in target
    assert submit(connected.person(), url).status_code == 403


def test_start_without_a_remote_provider_is_refused(connected: World) -> None:
    owner = connected.person()
    organization = owner.new_organization()
    refused = submit(owner, f"/console/organizations/{organization}/connect/account?provider=local")
    assert refused.status_code == 400
    assert "Choose GitHub or GitLab" in refused.text
