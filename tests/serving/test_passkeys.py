"""Passkeys in Chromium with its virtual authenticator, and the dialog that asks for the identity."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import pytest
import sqlalchemy as sa
from flask import Flask
from playwright.sync_api import Browser, CDPSession, Page, expect
from structlog.testing import capture_logs

from app.core.limits import SessionLimits
from app.extensions import db
from app.models.base import utcnow_ms
from app.models.login import Session
from tests.serving.local_console import local_console
from tests.serving.test_console_screens import FINDINGS, RECORDER
from tests.support.console_assets import build_assets
from tests.support.world import Person, World

PHONE = {"width": 390, "height": 844}
PASSWORD = "Quiet-Harbour-77"
SYNCED = {"defaultBackupEligibility": True, "defaultBackupState": True}


@dataclass
class Phone:
    """A browser of a phone with a virtual authenticator."""

    url: str
    page: Page
    devtools: CDPSession
    authenticator: str

    def open(self, path: str) -> None:
        self.page.goto(self.url + path)
        self.page.locator("html.has-script").wait_for()

    def findings(self) -> Any:
        return self.page.evaluate(FINDINGS)

    def credential(self) -> dict[str, Any]:
        result = self.devtools.send("WebAuthn.getCredentials", {"authenticatorId": self.authenticator})
        [credential] = result["credentials"]
        return dict(credential)

    def replace(self, credential: dict[str, Any]) -> None:
        """Replace the passkey by a copy of an earlier time."""
        named = {"authenticatorId": self.authenticator}
        self.devtools.send("WebAuthn.removeCredential", named | {"credentialId": credential["credentialId"]})
        self.devtools.send("WebAuthn.addCredential", named | {"credential": credential})


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Flask]]:
    """Serve the console on localhost."""
    with local_console(tmp_path_factory.mktemp("passkeys")) as site:
        yield site


@pytest.fixture
def person(site: tuple[str, Flask]) -> Person:
    """Return a user with a password."""
    person = World(site[1]).person()
    person.patch("/user/set-password", {"newPassword": PASSWORD}).ok()
    cookie = person.client.get_cookie("session_token")
    assert cookie is not None
    person.token = cookie.value
    return person


def phone(browser: Browser, site: tuple[str, Flask], person: Person, **authenticator: bool) -> Phone:
    """Return the phone of a signed-in user."""
    context = browser.new_context(viewport=PHONE, has_touch=True)
    context.add_cookies([{"name": "session_token", "value": person.token, "url": site[0]}])
    page = context.new_page()
    page.add_init_script(RECORDER)
    page.add_init_script(path=build_assets().WORK / "node_modules" / "axe-core" / "axe.min.js")
    devtools = context.new_cdp_session(page)
    devtools.send("WebAuthn.enable")
    options = {
        "protocol": "ctap2",
        "transport": "internal",
        "hasResidentKey": True,
        "hasUserVerification": True,
        "isUserVerified": True,
        "automaticPresenceSimulation": True,
        **authenticator,
    }
    added = devtools.send("WebAuthn.addVirtualAuthenticator", {"options": options})
    return Phone(site[0], page, devtools, added["authenticatorId"])


def register(phone: Phone) -> None:
    """Add a passkey on the page of the account."""
    phone.open("/console/account/passkeys")
    phone.page.get_by_label("Name", exact=True).fill("My phone")
    phone.page.get_by_role("button", name="Add a passkey").click()
    expect(phone.page.get_by_label("Name: My phone")).to_be_visible()


def sign_in(phone: Phone) -> None:
    """Sign in with the button. The browser offers no suggestions at the field."""
    phone.page.add_init_script("PublicKeyCredential.isConditionalMediationAvailable = async () => false")
    phone.page.context.clear_cookies()
    phone.open("/console/sign-in")
    phone.page.get_by_role("button", name="Sign in with a passkey").click()


class TestPasskeys:
    def test_user_registers_a_passkey_and_signs_in_without_a_name(
        self, browser: Browser, site: tuple[str, Flask], person: Person
    ) -> None:
        mine = phone(browser, site, person)
        register(mine)
        assert mine.findings() == []
        sign_in(mine)
        expect(mine.page).to_have_url(f"{site[0]}/console")
        assert mine.credential()["signCount"] >= 2
        mine.page.context.close()

    def test_suggestion_of_the_email_field_signs_in(
        self, browser: Browser, site: tuple[str, Flask], person: Person
    ) -> None:
        mine = phone(browser, site, person)
        register(mine)
        for target, page in (("https://evil.example/", "/console"), ("/console/account", "/console/account")):
            mine.page.context.clear_cookies()
            mine.open(f"/console/sign-in?next={target}")
            expect(mine.page).to_have_url(f"{site[0]}{page}")
        mine.page.context.close()

    def test_copy_of_a_device_bound_key_is_refused(
        self, browser: Browser, site: tuple[str, Flask], person: Person
    ) -> None:
        mine = phone(browser, site, person)
        register(mine)
        copy = mine.credential()
        sign_in(mine)
        expect(mine.page).to_have_url(f"{site[0]}/console")
        mine.replace(copy)
        with capture_logs() as lines:
            sign_in(mine)
            expect(mine.page.get_by_role("alert")).to_contain_text("was not accepted")
            assert mine.findings() == []
        assert mine.page.url.endswith("/console/sign-in")
        assert any(line["event"] == "passkey.counter_regressed" for line in lines)
        mine.page.context.close()

    def test_old_counter_of_a_synced_key_is_accepted_and_logged(
        self, browser: Browser, site: tuple[str, Flask], person: Person
    ) -> None:
        mine = phone(browser, site, person, **SYNCED)
        register(mine)
        copy = mine.credential()
        for _ in range(2):
            with capture_logs() as lines:
                sign_in(mine)
                expect(mine.page).to_have_url(f"{site[0]}/console")
            mine.replace(copy)
        assert any(line["event"] == "passkey.counter_regressed" for line in lines)
        mine.page.context.close()


class TestIdentity:
    @pytest.mark.parametrize("method", ["password", "passkey"])
    def test_form_goes_on_after_the_identity_was_confirmed(
        self, browser: Browser, site: tuple[str, Flask], person: Person, method: str
    ) -> None:
        mine = phone(browser, site, person)
        register(mine)
        with site[1].app_context():
            old = {"created_at": utcnow_ms() - timedelta(seconds=2 * SessionLimits.recent_s)}
            db.session.execute(sa.update(Session).where(Session.user_id == person.id).values(old))
            db.session.commit()
        mine.open("/console/account/tokens")
        mine.page.get_by_label("Name").fill("Deploy of the site")
        mine.page.get_by_role("button", name="Create token").click()
        dialog = mine.page.get_by_role("dialog", name="Confirm that it is you")
        expect(dialog).to_be_visible()
        assert mine.findings() == []
        if method == "password":
            dialog.get_by_label("Password").fill("Wrong-password-1")
            dialog.get_by_role("button", name="Continue").click()
            expect(dialog.get_by_role("alert").first).to_contain_text("password is wrong")
            dialog.get_by_label("Password").fill(PASSWORD)
            dialog.get_by_role("button", name="Continue").click()
        else:
            dialog.get_by_role("button", name="Use a passkey").click()
        expect(mine.page.get_by_role("heading", name="Secret of Deploy of the site")).to_be_visible()
        mine.page.context.close()
