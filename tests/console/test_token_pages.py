"""Personal API tokens and service accounts with plain forms."""

import re
from datetime import timedelta
from typing import Any

import pytest
from flask import Flask
from werkzeug.test import TestResponse

from app.core import clock
from tests.console.conftest import ConsoleScene
from tests.support.world import Person, World

pytestmark = pytest.mark.one_database

TOKENS = "/console/account/tokens"
SECRET = re.compile(r'id="secret"[^>]*>(glly_\w+)</textarea>')


def submit(person: Person, path: str, **fields: Any) -> TestResponse:
    """Send a form of a signed-in user."""
    with person.app.app_context():
        return person.client.post(path, data=fields, headers={"Origin": "http://127.0.0.1:8000"})


def secret_of(response: TestResponse) -> str:
    """Return the secret of the page that shows it once."""
    assert response.status_code == 200
    assert response.headers["Cache-Control"] == "no-store"
    found = SECRET.search(response.text)
    assert found is not None
    return found[1]


def status_with(world: World, secret: str, path: str) -> int:
    """Return the status of an API request with a token."""
    return world.anonymous().get(path, headers={"Authorization": f"Bearer {secret}"}).status


def test_personal_token_is_created_rotated_and_revoked(app: Flask, world: World) -> None:
    person = world.person()
    assert "No API token yet." in person.client.get(TOKENS).text
    first = secret_of(submit(person, TOKENS, name="Deploy <1>", scopes=["read", "publish"], reach="all"))
    listed = person.client.get(TOKENS).text
    assert first not in listed
    assert 'aria-label="Rotate Deploy &lt;1&gt;"' in listed
    assert "Read, Publish" in listed
    assert status_with(world, first, "/organization/user") == 200
    (row,) = person.get("/tokens").ok()
    second = secret_of(submit(person, f"{TOKENS}/rotate", token_id=row["id"]))
    assert second not in person.client.get(TOKENS).text
    assert [status_with(world, secret, "/organization/user") for secret in (first, second)] == [401, 200]
    revoked = submit(person, f"{TOKENS}/revoke", token_id=row["id"])
    assert (revoked.status_code, revoked.location) == (303, f"{TOKENS}?done=revoked")
    assert "Deploy" not in person.client.get(TOKENS).text
    assert status_with(world, second, "/organization/user") == 401


def test_token_has_the_chosen_projects_and_expiry(console: ConsoleScene) -> None:
    editor: Any = console.people["editor"]
    project, day = console.ids["project_id"], (clock.now() + timedelta(days=30)).date().isoformat()
    assert f'value="{project}"' in editor.client.get(TOKENS).text
    fields = {"name": "Search", "scopes": ["read"], "reach": "some", "projects": [project], "expires_at": day}
    secret_of(submit(editor, TOKENS, **fields))
    (row,) = editor.get("/tokens").ok()
    assert (row["projects"], row["expires_at"]) == ([project], f"{day}T23:59:59.000Z")
    last = re.search(r' max="([\d-]+)"', editor.client.get(TOKENS).text)
    assert last is not None
    secret_of(submit(editor, TOKENS, **fields | {"expires_at": last[1]}))


def test_failed_form_keeps_its_values(console: ConsoleScene) -> None:
    owner = console.site.owner
    response = submit(owner, TOKENS, name="Kept", scopes=["write"], reach="some", expires_at="2020-01-01")
    assert response.status_code == 400
    assert 'value="Kept"' in response.text
    assert 'id="projects-error"' in response.text
    assert re.search(r'id="scope-write"[^>]* checked', response.text)
    assert re.search(r'id="reach-some"[^>]* checked', response.text)
    assert 'id="scopes-error"' in submit(owner, TOKENS, name="Kept", reach="all").text
    past = submit(owner, TOKENS, name="Kept", scopes=["write"], expires_at="2020-01-01")
    assert 'id="expires_at-error"' in past.text
    assert owner.get("/tokens").ok() == []


def test_token_of_another_user_is_not_found(console: ConsoleScene) -> None:
    owner, editor = console.site.owner, console.people["editor"]
    assert isinstance(editor, Person)
    made = owner.post("/tokens", {"name": "Mine", "scopes": ["read"]}).ok(201)
    for action in ("rotate", "revoke"):
        response = submit(editor, f"{TOKENS}/{action}", token_id=made["id"])
        assert response.status_code == 404
        assert "Mine" not in response.text
    assert status_with(console.site.world, made["token"], "/organization/user") == 200


def test_service_account_is_created_and_listed(console: ConsoleScene) -> None:
    owner, editor, organization = console.site.owner, console.people["editor"], console.ids["org_id"]
    assert isinstance(editor, Person)
    url, path = f"/console/organizations/{organization}/service-accounts", f"/organization/{organization}"
    world = console.site.world
    assert f'href="{url}"' in owner.client.get(f"/console/organizations/{organization}").text
    first = secret_of(submit(owner, url, name="Build", scopes=["read"], reach="all"))
    listed = owner.client.get(url).text
    assert first not in listed
    assert "Revoke Build" in listed
    assert status_with(world, first, path) == 200
    (row,) = owner.get(f"{path}/service-accounts").ok()
    for action in ("", "/rotate", "/revoke"):
        refused = submit(editor, f"{url}{action}", token_id=row["id"], name="Other", scopes=["read"])
        assert refused.status_code == 403
    assert editor.client.get(url).status_code == 403
    assert url not in editor.client.get(f"/console/organizations/{organization}").text
    second = secret_of(submit(owner, f"{url}/rotate", token_id=row["id"]))
    assert [status_with(world, secret, path) for secret in (first, second)] == [401, 200]
    assert submit(owner, f"{url}/revoke", token_id=row["id"]).location == f"{url}?done=revoked"
    assert status_with(world, second, path) == 401
