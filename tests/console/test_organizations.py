"""Organizations, members and the connection of a repository with plain forms."""

import re

import pytest
from flask import Flask
from werkzeug.test import TestResponse

from app.core.permissions import Role
from tests.console.conftest import ConsoleScene
from tests.support.factories import organization, project, repository
from tests.support.samples.sites import SMALL
from tests.support.world import Person, World

pytestmark = pytest.mark.one_database


def submit(person: Person, path: str, **fields: str | list[str]) -> TestResponse:
    """Send a form of a signed-in user."""
    with person.app.app_context():
        return person.client.post(path, data=fields, headers={"Origin": "http://127.0.0.1:8000"})


def test_organization_forms_create_members_and_a_repository(app: Flask, world: World) -> None:
    owner, other = world.person(), world.person()
    made = submit(owner, "/console/organizations", name="Pier & Sons")
    url = made.location.partition("?")[0]
    assert "Pier &amp; Sons" in owner.client.get("/console").text
    assert submit(owner, f"{url}/members/invite", email=other.email, role="editor").status_code == 303
    assert submit(owner, f"{url}/members/invite", email="new@mail.example.org", role="admin").status_code == 303
    members = owner.client.get(f"{url}/members").text
    assert other.email in members
    assert "Revoke new@mail.example.org" in members
    assert submit(owner, f"{url}/members/remove", email="new@mail.example.org").status_code == 303
    assert "new@mail.example.org" not in owner.client.get(f"{url}/members").text
    assert submit(owner, f"{url}/members/role", member_id=other.id, role="admin").status_code == 303
    connected = submit(owner, f"{url}/connect?provider=local", repository="new", new_name="journal")
    assert re.fullmatch(r"/console/projects/prj_\w+\?done=connected", connected.location)
    again = submit(owner, f"{url}/connect?provider=local", repository="new", new_name="journal", project_name="Kept")
    assert again.status_code == 409
    assert 'value="Kept"' in again.text
    assert "journal" in owner.client.get(url).text


def test_failed_form_shows_the_values_again(console: ConsoleScene) -> None:
    owner = console.site.owner
    url = f"/console/organizations/{console.ids['org_id']}"
    response = submit(owner, f"{url}/members/invite", email="not-an-address", role="editor")
    assert response.status_code == 400
    assert 'value="not-an-address"' in response.text
    assert 'id="email-error"' in response.text


def test_ended_session_keeps_the_values(console: ConsoleScene) -> None:
    anonymous = console.people["anonymous"]
    response = anonymous.client.post(f"/console/organizations/{console.ids['org_id']}/settings", data={"name": "Typed"})
    assert response.status_code == 401
    assert 'value="Typed"' in response.text


def test_members_are_limited_to_sites_with_plain_forms(app: Flask, world: World) -> None:
    owner, client = world.person(), world.person()
    org = organization(world, owner, (client, Role.EDITOR))
    mine, hidden = (project(world, owner, org, repository(world, SMALL)[0]) for _ in range(2))
    url, limits = (
        f"/console/organizations/{org}",
        {"access": "projects", f"site.{mine}": "editor", f"site.{hidden}": ""},
    )
    assert submit(owner, f"{url}/members/role", member_id=client.id, role="editor", **limits).status_code == 303
    assert f"/console/projects/{mine}" in (home := client.client.get("/console").text)
    assert hidden not in home
    assert hidden not in client.client.get(url).text
    assert client.client.get(f"/console/projects/{hidden}").status_code == 403
    assert hidden not in client.client.get(f"/console/projects/{mine}").text
    invited = {"email": "new@mail.example.org", "role": "editor"}
    assert submit(owner, f"{url}/members/invite", **invited, **limits).status_code == 303
    assert submit(owner, f"{url}/members/invite", **invited).status_code == 303
    members = owner.get(f"/organization/{org}").ok()["members"]
    assert sorted(one["access"] for one in members) == ["all", "projects", "projects"]
    nothing = submit(owner, f"{url}/members/role", member_id=client.id, role="editor", access="projects")
    assert nothing.status_code == 400
    assert "Choose at least one project." in nothing.text
    assert submit(owner, f"{url}/members/role", member_id=client.id, role="editor", access="all").status_code == 303
    assert hidden in client.client.get("/console").text
