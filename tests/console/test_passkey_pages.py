"""Tests of the pages of passkeys, and of the dialog that asks for the identity."""

import json
import re
from datetime import timedelta
from html import unescape
from typing import Any

import pytest
import sqlalchemy as sa
from flask import Flask

from app.core import clock
from app.core.limits import SessionLimits
from app.extensions import db
from app.models.user import User
from tests.support.authenticator import Authenticator
from tests.support.new_account import Newcomer
from tests.support.second_factor import ProtectedPerson
from tests.support.world import Browser, Person, World

URL = "/console/account/passkeys"
OLD = timedelta(seconds=SessionLimits.recent_s + 1)
PASSWORD = "Quiet-Harbour-77"


@pytest.fixture
def person(world: World) -> Person:
    """Return a user with a password and a passkey."""
    person = world.person()
    person.patch("/user/set-password", {"newPassword": PASSWORD}).ok()
    return person


def send(person: Browser, path: str, **values: Any) -> Any:
    with person.app.app_context():
        return person.client.post(path, data=values)


def add(person: Person) -> Authenticator:
    """Register a passkey as the script of the page does. The service of the tests has an IP address."""
    key = Authenticator()
    options = person.get("/auth/passkey/generate-register-options").ok()
    response = send(person, f"{URL}/add", name="Phone", response=json.dumps(key.create(options)))
    assert response.status_code == 303, response.get_data(as_text=True)
    return key


class TestPasskeyPages:
    def test_service_with_an_ip_address_says_why_it_offers_no_passkeys(self, person: Person) -> None:
        with person.app.app_context():
            text = person.client.get(URL).get_data(as_text=True)
            assert "Passkeys need a domain" in text
            assert 'action="/console/account/passkeys"' not in text
            assert "data-passkey-sign-in" not in person.client.get("/console/sign-in").get_data(as_text=True)

    def test_user_adds_renames_and_deletes_a_passkey(self, person: Person) -> None:
        add(person)
        [row] = person.get("/auth/passkey/list-user-passkeys").ok()
        assert row["name"] == "Phone"
        assert send(person, f"{URL}/rename", passkey_id=row["id"], name="Desk").status_code == 303
        assert person.get("/auth/passkey/list-user-passkeys").ok()[0]["name"] == "Desk"
        assert send(person, f"{URL}/delete", passkey_id=row["id"]).status_code == 303
        assert person.get("/auth/passkey/list-user-passkeys").ok() == []

    def test_failed_registration_shows_the_page_again(self, person: Person) -> None:
        response = send(person, f"{URL}/add", name="Phone", response="{")
        assert response.status_code == 400


class TestIdentity:
    def test_dialog_contains_the_form_and_goes_on_with_the_password(self, person: Person) -> None:
        values = {"name": "Deploy & <b>", "scopes": ["read", "write"], "reach": "all"}
        with clock.shifted(OLD):
            first = send(person, "/console/account/tokens", **values)
            assert first.status_code == 403
            assert first.headers["Cache-Control"] == "no-store"
            text = first.get_data(as_text=True)
            dialog = text[text.index("<dialog") : text.index("</dialog>")]
            hidden = re.findall(r'type="hidden" name="(\w+)" value="([^"]*)"', dialog)
            assert [(name, unescape(value)) for name, value in hidden] == [
                ("name", "Deploy & <b>"),
                ("scopes", "read"),
                ("scopes", "write"),
                ("reach", "all"),
            ]
            wrong = send(person, "/console/account/tokens", **values, identity_password="Wrong-password-1")
            assert wrong.status_code == 400
            assert "The current password is wrong" in wrong.get_data(as_text=True)
            done = send(person, "/console/account/tokens", **values, identity_password=PASSWORD)
            assert done.status_code == 200
        assert [token["name"] for token in person.get("/tokens").ok()] == ["Deploy & <b>"]

    def test_passkey_confirms_the_identity(self, person: Person) -> None:
        key = add(person)
        with clock.shifted(OLD):
            options = person.get("/auth/passkey/generate-authenticate-options").ok()
            proof = json.dumps(key.sign(options))
            values = {"name": "Deploy", "scopes": ["read"], "identity_response": proof}
            assert send(person, "/console/account/tokens", **values).status_code == 200

    def test_code_confirms_the_identity_of_a_user_without_a_password(self, app: Flask, world: World) -> None:
        newcomer = Newcomer(app, world).join()
        authenticator = ProtectedPerson(newcomer).app
        with app.app_context(), db.engine.begin() as connection:
            connection.execute(sa.update(User).where(User.email_key == newcomer.email).values(password_hash=None))
        values = {"name": "Deploy", "scopes": "read"}
        with clock.shifted(OLD):
            asked = send(newcomer, "/console/account/tokens", **values).get_data(as_text=True)
            assert ('name="identity_code"' in asked, 'name="identity_password"' in asked) == (True, False)
            refused = send(newcomer, "/console/account/tokens", **values, identity_code=authenticator.wrong_code())
            assert (refused.status_code, 'name="identity_code"' in refused.text) == (401, True)
            sent = values | {"identity_code": f" {authenticator.code(1)} "}
            assert send(newcomer, "/console/account/tokens", **sent).status_code == 200

    def test_every_form_that_needs_a_proof_asks_for_it(self, person: Person, app: Flask) -> None:
        organization = person.new_organization()
        [token] = [person.post("/tokens", {"name": "Deploy", "scopes": ["read"]}).ok(201)]
        base = f"/console/organizations/{organization}"
        forms: dict[str, dict[str, str]] = {
            "/console/account/tokens": {"name": "Deploy", "scopes": "read"},
            "/console/account/tokens/rotate": {"token_id": token["id"]},
            f"{base}/service-accounts": {"name": "Deploy", "scopes": "read"},
            f"{base}/transfer": {"member_id": person.id},
            f"{base}/delete": {},
            URL: {"name": "Phone"},
            f"{URL}/delete": {"passkey_id": "pky_unknown"},
        }
        with clock.shifted(OLD):
            for path, values in forms.items():
                response = send(person, path, **values)
                assert (path, response.status_code) == (path, 403)
                assert "<dialog" in response.get_data(as_text=True), path
