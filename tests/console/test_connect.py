"""Connection of an account of a Git host."""

import html
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from app.extensions import db
from app.models.git_credential import GitCredential
from app.models.project import Provider
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


def test_connect_page_starts_with_the_account_of_the_user(connected: World) -> None:
    owner = connected.person()
    url = f"/console/organizations/{owner.new_organization()}/connect"

    def tabs() -> list[str]:
        tabs = re.search(r'<nav class="tabs".*?</nav>', owner.client.get(url).text, re.DOTALL)
        assert tabs is not None
        assert tabs[0].index('aria-current="page"') < tabs[0].index("</a>")
        return re.findall(r"provider=(\w+)", tabs[0])

    assert tabs() == ["github", "gitlab", "local"]
    with connected.app.app_context():
        db.session.add(GitCredential(user_id=owner.id, provider=Provider.GITLAB))
        db.session.commit()
    assert tabs() == ["gitlab", "github", "local"]


def test_connect_page_without_remote_providers_starts_with_the_clone_url(world: World) -> None:
    owner = world.person()
    shown = owner.client.get(f"/console/organizations/{owner.new_organization()}/connect").text
    assert shown.index("From a clone URL") < shown.index("From an archive") < shown.index("New repository")


def test_start_without_a_remote_provider_is_refused(connected: World) -> None:
    owner = connected.person()
    organization = owner.new_organization()
    refused = submit(owner, f"/console/organizations/{organization}/connect/account?provider=local")
    assert refused.status_code == 400
    assert "Choose GitHub or GitLab" in refused.text
