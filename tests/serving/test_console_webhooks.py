"""Webhooks in Chromium with a receiver on loopback: no serious finding, no horizontal scrolling and no error.

`GALLEY_SCREENSHOTS=FOLDER` writes each page in both sizes.
"""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from tests.serving.member import Member
from tests.serving.test_console_screens import RELOADS, VIEWS, Console, running_console
from tests.support.doubles.server import Reply
from tests.support.doubles.webhook_receiver import WebhookReceiver


@pytest.fixture(scope="module")
def console(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Console]:
    home = tmp_path_factory.mktemp("webhooks")
    with running_console(browser, home, WEBHOOK_ALLOWED_NETWORKS="127.0.0.1/32") as console:
        console.resize(*VIEWS[0])
        console.sign_in()
        yield console


@pytest.fixture
def receiver() -> Iterator[WebhookReceiver]:
    double = WebhookReceiver()
    yield double
    double.close()


def check(console: Console, name: str) -> None:
    """Require that the open page has no finding in both sizes, and take a picture if a folder is set."""
    folder = os.environ.get("GALLEY_SCREENSHOTS")
    if folder:
        for size, theme in VIEWS:
            console.resize(size, theme)
            console.page.screenshot(path=Path(folder) / f"{name}-{size['width']}.png", full_page=True)
        console.resize(*VIEWS[0])
    assert console.problems() == {}, name
    console.resize(*VIEWS[0])


def reload_until(console: Console, text: str) -> None:
    """Reload the page until a result contains the text: a background job delivers messages."""
    result = console.page.locator("main .badge").get_by_text(text)
    for _ in range(RELOADS):
        if result.count():
            break
        console.page.wait_for_timeout(200)
        console.page.reload()
    expect(result.first).to_be_visible()


@pytest.mark.server
def test_webhook_is_created_tested_and_read_by_keyboard(console: Console, receiver: WebhookReceiver) -> None:
    page, receiver.replies["search"] = console.page, [Reply(503, b"Maintenance until noon")]
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    console.open("/console")
    console.open(f"{console.organization()}/webhooks")
    check(console, "webhooks-empty")
    page.get_by_label("URL").fill(f"{receiver.url}/search")
    page.get_by_label("Description").fill("Search index")
    page.get_by_label("An image was uploaded").focus()
    page.keyboard.press("Space")
    page.get_by_label("Description").press("Enter")
    page.get_by_text("Copy the secret now.").wait_for()
    check(console, "webhook-secret")
    page.get_by_role("button", name="Copy").focus()
    page.keyboard.press("Enter")
    page.get_by_text("Copied").wait_for()
    assert page.evaluate("navigator.clipboard.readText()") == page.get_by_label("Secret").input_value()
    page.get_by_role("link", name="Done").click()
    page.get_by_role("button", name="Send a test").focus()
    page.keyboard.press("Enter")
    page.wait_for_url("**/deliveries/**")
    reload_until(console, "status 503")
    check(console, "webhook-delivery")
    page.get_by_role("link", name="Search index").click()
    reload_until(console, "delivered")
    check(console, "webhook")
    page.get_by_role("link", name="Webhooks").first.click()
    expect(page.get_by_role("row").filter(has_text="Search index")).to_contain_text("delivered")
    check(console, "webhooks")
    assert page.evaluate("problems") == []
    page.get_by_role("link", name="Search index").press("Enter")
    page.locator("summary").filter(has_text="Delete").press("Enter")
    page.get_by_role("button", name="Delete the webhook").press("Enter")
    page.get_by_text("No webhook yet.").wait_for()


@pytest.mark.server
def test_site_is_rebuilt_after_a_save(console: Console, receiver: WebhookReceiver) -> None:
    page, file = console.page, "content/posts/fog-signals.md"
    project = f"/console/projects/{Member(console.service).project}"
    console.open(f"{project}/connect")
    check(console, "connect-empty")
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.get_by_role("button", name="Copy").first.click()
    page.get_by_text("Copied").wait_for()
    assert page.evaluate("navigator.clipboard.readText()") == page.get_by_label("Git address").input_value()
    console.open(f"{project}/edit/{file}", ".ProseMirror")
    page.locator(".ProseMirror > p").last.click()
    page.keyboard.press("End")
    page.keyboard.type(" Ring the bell.")
    page.keyboard.press("Control+s")
    hint = page.locator("main form").filter(has_text="No host builds the site after a save yet.")
    hint.wait_for()
    check(console, "hint")
    hint.get_by_role("link", name="Rebuild my site").click()
    page.get_by_role("link", name="Cloudflare Pages").click()
    check(console, "rebuild")
    receiver.replies["wrong"] = [Reply(404)]
    page.get_by_label("URL of the hook").fill(f"{receiver.url}/wrong")
    page.keyboard.press("Enter")
    page.get_by_text("The request was not accepted").wait_for()
    check(console, "rebuild-refused")
    page.get_by_label("URL of the hook").fill(f"{receiver.url}/builds/3f2a9c")
    page.keyboard.press("Enter")
    page.get_by_text("A build was requested.").wait_for(timeout=120_000)
    check(console, "rebuild-done")
    page.get_by_role("link", name="Done").click()
    expect(page.get_by_role("row").filter(has_text="Cloudflare Pages")).to_contain_text("delivered")
    assert "3f2a9c" not in page.content()
    check(console, "connect")
    [call] = receiver.received("builds/3f2a9c")
    assert call.body == b""
