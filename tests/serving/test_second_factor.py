"""The second factor in Chromium on a phone: set-up, a lost phone, recovery by a backup code and by an owner.

`GALLEY_SCREENSHOTS=FOLDER` writes each page.
"""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from flask import Flask
from playwright.sync_api import Browser, Page, expect

from tests.serving.local_console import local_console
from tests.serving.test_console_screens import FINDINGS, RECORDER
from tests.support.console_assets import build_assets
from tests.support.new_account import Newcomer
from tests.support.second_factor import AuthenticatorApp
from tests.support.world import World

pytestmark = [pytest.mark.server, pytest.mark.slow, pytest.mark.one_database]
INSIDE = """all => all.filter(one => {
  const { right, width } = one.getBoundingClientRect(), card = one.closest(".account-card");
  return right > (card?.getBoundingClientRect().right ?? innerWidth) || (one.type === "text" && width < 80);
}).map(one => one.outerHTML)"""
PHONE = {"width": 390, "height": 844}


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Flask]]:
    with local_console(tmp_path_factory.mktemp("factors")) as site:
        yield site


def check(page: Page, name: str) -> None:
    """Look for findings of axe, and for text that is wider than the phone."""
    if folder := os.environ.get("GALLEY_SCREENSHOTS"):
        page.screenshot(path=Path(folder) / f"factor-{name}.png", full_page=True)
    assert page.evaluate(FINDINGS) == []
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth") is True
    assert page.locator("button:visible, input:visible").evaluate_all(INSIDE) == []


def sign_in(page: Page, person: Newcomer) -> None:
    page.get_by_label("E-mail").fill(person.email)
    page.get_by_label("Password", exact=True).fill(person.password)
    page.get_by_role("button", name="Sign in", exact=True).click()


def test_phone_is_set_up_lost_and_recovered(browser: Browser, site: tuple[str, Flask]) -> None:
    url, app = site
    world = World(app)
    owner, member = Newcomer(app, world).join(), Newcomer(app, world).join()
    org_id = str(owner.post("/organization", {"org_name": "Harbour"}).ok(201)["org_id"])
    owner.call("PATCH", f"/organization/member/{org_id}", {"email": member.email, "role": "editor"}).ok()
    user_id = str(member.get("/auth/get-session").ok()["user"]["id"])
    owner.patch(f"/organization/{org_id}", {"require_second_factor": True}).ok()
    with browser.new_context(viewport=PHONE, has_touch=True) as context:
        page = context.new_page()
        page.add_init_script(RECORDER)
        page.add_init_script(path=build_assets().WORK / "node_modules" / "axe-core" / "axe.min.js")
        page.goto(f"{url}/console/sign-in")
        sign_in(page, member)
        page.wait_for_url("**/account/second-factor")
        check(page, "required")
        page.get_by_label("Password", exact=True).fill(member.password)
        page.get_by_role("button", name="Set up an authenticator app").click()
        expect(page.get_by_role("img", name="Code for a phone")).to_be_visible()
        check(page, "qr")
        secret = page.get_by_label("Secret").input_value()
        phone = AuthenticatorApp(f"otpauth://totp/x?secret={secret}")
        page.get_by_label("Code", exact=True).fill(phone.wrong_code())
        page.get_by_role("button", name="Turn on").click()
        expect(page.get_by_text("The code is wrong or was used")).to_be_visible()
        check(page, "wrong-code")
        page.get_by_label("Code", exact=True).fill(phone.code(-1))
        page.get_by_role("button", name="Turn on").click()
        codes = page.locator("main li, .account li").filter(has_text="-")
        expect(codes).to_have_count(10)
        check(page, "codes")
        code = codes.first.inner_text().strip()
        context.clear_cookies()

        page.goto(f"{url}/console/sign-in")
        sign_in(page, member)
        page.wait_for_url("**/second-factor**")
        check(page, "second-step")
        page.get_by_text("Use a backup code").click()
        page.get_by_label("Backup code").fill(code.upper())
        page.locator("form").filter(has=page.get_by_label("Backup code")).get_by_role("button").click()
        page.wait_for_url(f"{url}/console*")
        page.goto(f"{url}/console/account/second-factor")
        expect(page.get_by_text("Unused backup codes: 9")).to_be_visible()
        check(page, "account")
        context.clear_cookies()

        # The owner has set up a factor, and sends the link.
        enabled = owner.post("/auth/two-factor/enable", {"password": owner.password}).ok()
        owner.post("/auth/two-factor/verify-totp", {"code": AuthenticatorApp(enabled["totpURI"]).code(-1)}).ok()
        owner.post(f"/organization/{org_id}/member/{user_id}/reset-second-factor").ok()
        world.work_off()
        page.goto(f"{url}/console/reset-second-factor#token={member.mailbox.tokens()[-1]}")
        page.get_by_label("Password", exact=True).fill(member.password)
        check(page, "reset")
        page.get_by_role("button", name="Remove").click()
        page.wait_for_url("**/sign-in?done=factor-removed")
        sign_in(page, member)
        page.wait_for_url("**/account/second-factor")
