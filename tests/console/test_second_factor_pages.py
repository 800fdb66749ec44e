"""Second factor with plain forms: set-up, second step of the sign-in, recovery, requirement of an organization."""

import html
import re

import pytest
from flask import Flask
from flask.testing import FlaskClient
from werkzeug.test import TestResponse

from app.core import clock
from tests.support.new_account import Newcomer
from tests.support.second_factor import AuthenticatorApp
from tests.support.world import World

pytestmark = pytest.mark.one_database

SECRET = re.compile(r'id="secret" value="([A-Z2-7]+)"')
CODES = re.compile(r"<li>([a-z2-7]{5}-[a-z2-7]{5}-[a-z2-7]{5})</li>")
URL = "/console/account/second-factor"
WITHOUT_FACTOR = {
    *("static/1", "1", "sign-in", "sign-up", "verify", "verify/resend", "forgot-password", "reset-password"),
    *("invitation", "second-factor", "second-factor/send", "reset-second-factor", "organizations/1/leave"),
    *(f"account/second-factor{action}" for action in ("", "/confirm", "/codes", "/disable")),
    *(f"account/passkeys{action}" for action in ("", "/add", "/rename", "/delete")),
    "account/sessions/distrust",
}
"""The pages below the console that a user without a required second factor reaches, besides the sign-out."""


def submit(client: FlaskClient, path: str, **fields: str) -> TestResponse:
    """Send a form as a browser does."""
    return client.post(f"/console{path}", data=fields, headers={"Origin": "http://127.0.0.1:8000"})


def set_up(person: Newcomer) -> tuple[AuthenticatorApp, list[str]]:
    """Set up an authenticator app and return it with the backup codes."""
    assert (
        submit(person.client, "/account/second-factor/enable", password=person.password, method="totp").location == URL
    )
    shown = person.client.get(URL).text
    assert "data:image/svg+xml" in shown
    app = AuthenticatorApp(f"otpauth://totp/x?secret={SECRET.findall(shown)[0]}")
    confirmed = submit(person.client, "/account/second-factor/confirm", code=app.code(-1))
    assert confirmed.status_code == 200
    return app, CODES.findall(confirmed.text)


@pytest.fixture
def person(app: Flask, world: World) -> Newcomer:
    return Newcomer(app, world).join()


class TestSetUp:
    def test_wrong_password_and_wrong_code_show_the_form_again(self, person: Newcomer) -> None:
        refused = submit(person.client, "/account/second-factor/enable", password="Wrong-harbour-1", method="totp")
        assert (refused.status_code, "The current password is wrong" in refused.text) == (400, True)
        submit(person.client, "/account/second-factor/enable", password=person.password, method="totp")
        wrong = submit(person.client, "/account/second-factor/confirm", code="12345")
        assert wrong.status_code == 401
        assert "The code is wrong or was used" in html.unescape(wrong.text)
        assert "data:image/svg+xml" in wrong.text

    def test_backup_codes_are_shown_once_and_replaced(self, person: Newcomer) -> None:
        _, codes = set_up(person)
        assert len(codes) == 10
        page = person.client.get(URL).text
        assert CODES.findall(page) == []
        assert "Unused backup codes: 10" in page
        replaced = submit(person.client, "/account/second-factor/codes", password=person.password)
        assert not set(CODES.findall(replaced.text)) & set(codes)

    def test_factor_is_turned_off_with_the_password(self, person: Newcomer) -> None:
        set_up(person)
        done = submit(person.client, "/account/second-factor/disable", password=person.password)
        assert done.location == f"{URL}?done=factor-removed"
        assert "The second factor was removed" in person.client.get(done.location).text

    def test_codes_by_mail_are_chosen_and_sign_in(self, app: Flask, world: World, person: Newcomer) -> None:
        shown = submit(person.client, "/account/second-factor/enable", password=person.password, method="otp")
        assert len(CODES.findall(shown.text)) == 10
        other = Newcomer(app, world, person.email)
        submit(other.client, "/sign-in", email=person.email, password=person.password)
        assert submit(other.client, "/second-factor/send").location == "/console/second-factor?done=code-sent"
        world.work_off()
        code = person.mailbox.codes()[-1]
        assert submit(other.client, "/second-factor", method="otp", code=code).location == "/console"


class TestSignIn:
    def test_second_step_leads_to_the_wanted_page(self, app: Flask, world: World, person: Newcomer) -> None:
        authenticator, _ = set_up(person)
        other = Newcomer(app, world, person.email)
        step = submit(other.client, "/sign-in?next=/console/account", email=person.email, password=person.password)
        assert step.location == "/console/second-factor?next=%2Fconsole%2Faccount"
        assert "Trust this browser for 30 days" in other.client.get(step.location).text
        wrong = submit(other.client, "/second-factor", method="totp", code=authenticator.wrong_code())
        assert wrong.status_code == 401
        fields = {"method": "totp", "code": authenticator.code(), "trust": "1"}
        assert submit(other.client, "/second-factor?next=/console/account", **fields).location == "/console/account"
        devices = other.client.get("/console/account/sessions").text
        assert "Trusted browsers" in devices
        [device] = re.findall(r'name="device_id" value="(dev_\w+)"', devices)
        submit(other.client, "/account/sessions/distrust", device_id=device)
        assert "Trusted browsers" not in other.client.get("/console/account/sessions").text

    def test_last_backup_codes_lead_to_the_page_that_makes_new_ones(
        self, app: Flask, world: World, person: Newcomer
    ) -> None:
        _, codes = set_up(person)
        for code in codes[:7]:
            person.post("/auth/two-factor/verify-backup-code", {"code": code}).ok()
        other = Newcomer(app, world, person.email)
        submit(other.client, "/sign-in", email=person.email, password=person.password)
        assert submit(other.client, "/second-factor", method="backup", code=codes[7]).location == URL
        assert "Only few backup codes are left" in other.client.get(URL).text

    def test_expired_sign_in_starts_again(self, app: Flask, world: World) -> None:
        page = Newcomer(app, world).client.get("/console/second-factor").text
        assert "The sign-in has expired" in page


class TestRecovery:
    def test_owner_sends_a_link_with_which_the_member_removes_the_factor(
        self, app: Flask, world: World, person: Newcomer
    ) -> None:
        owner = Newcomer(app, world).join()
        org_id = str(owner.post("/organization", {"org_name": "Harbour"}).ok(201)["org_id"])
        owner.call("PATCH", f"/organization/member/{org_id}", {"email": person.email, "role": "editor"}).ok()
        set_up(person)
        user_id = str(person.get("/auth/get-session").ok()["user"]["id"])
        base = f"/organizations/{org_id}/members"
        assert submit(owner.client, f"{base}/reset-second-factor", member_id=user_id).location == (
            f"/console{base}?done=mailed"
        )
        world.work_off()
        assert person.client.get("/reset-second-factor").location == "/console/reset-second-factor"
        token = person.mailbox.tokens()[-1]
        done = submit(person.client, "/reset-second-factor", token=token, password=person.password)
        assert done.location == "/console/sign-in?done=factor-removed"
        assert submit(person.client, "/sign-in", email=person.email, password=person.password).location == "/console"


class TestRequirement:
    def test_member_is_led_to_the_set_up_and_continues(self, app: Flask, world: World, person: Newcomer) -> None:
        owner = Newcomer(app, world).join()
        org_id = str(owner.post("/organization", {"org_name": "Harbour"}).ok(201)["org_id"])
        owner.call("PATCH", f"/organization/member/{org_id}", {"email": person.email, "role": "editor"}).ok()
        set_up(owner)
        saved = submit(owner.client, f"/organizations/{org_id}/second-factor", require_second_factor="1")
        assert saved.location == f"/console/organizations/{org_id}/settings?done=saved"
        settings = owner.client.get(saved.location).text
        assert f'value="{clock.now().date().isoformat()}"' in settings
        for path in ("/console", f"/console/organizations/{org_id}", "/console/account", "/console/account/tokens"):
            assert person.client.get(path).location == URL
        page = person.client.get(URL)
        assert page.status_code == 200
        assert "Harbour" not in page.text
        set_up(person)
        assert person.client.get(f"/console/organizations/{org_id}").status_code == 200

    def test_every_page_leads_to_the_set_up(self, app: Flask, world: World, person: Newcomer) -> None:
        owner = Newcomer(app, world).join()
        org_id = str(owner.post("/organization", {"org_name": "Harbour"}).ok(201)["org_id"])
        owner.call("PATCH", f"/organization/member/{org_id}", {"email": person.email, "role": "editor"}).ok()
        owner.patch(f"/organization/{org_id}", {"require_second_factor": True}).ok()
        open_pages = set[str]()
        for rule in app.url_map.iter_rules():
            path = re.sub(r"<[^>]*>", "1", rule.rule)
            if not path.startswith("/console") or path == "/console/sign-out":
                continue
            for method in sorted({"GET", "POST"} & (rule.methods or set())):
                answer = person.client.open(path, method=method, headers={"Origin": "http://127.0.0.1:8000"})
                if answer.location != URL:
                    open_pages.add(path.removeprefix("/console/"))
        assert open_pages == WITHOUT_FACTOR
