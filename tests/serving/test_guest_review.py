"""A guest without an account reviews a change on a phone: with scripts, and without them.

`GALLEY_SCREENSHOTS=FOLDER` writes the pages of the guest.
"""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, FrameLocator, Page, expect

from tests.serving.processes import Service, running_prepared
from tests.serving.test_built_pages import NEW_PARAGRAPH, NEW_TITLE, PATIENCE_S, wait_for_builds
from tests.serving.test_console_changes import OLD_TITLE, PARAGRAPH, Changes, propose, sign_in
from tests.serving.test_console_screens import FILE, RECORDER, Console, repository
from tests.support.console_assets import build_assets

PHONE = {"width": 390, "height": 844}
SENTENCE = "the bell buoy says whatever the swell tells it"


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    build_assets()
    with running_prepared(tmp_path_factory.mktemp("guest"), BUILD_PROCESSES="1") as service:
        service.wait_for("job=content.index")
        yield service


@pytest.fixture(scope="module")
def changes(service: Service, browser: Browser) -> Iterator[Changes]:
    editor = sign_in(browser, service, "editor", has_scripts=True, has_pointer=False)
    admin = sign_in(browser, service, "admin", has_scripts=False, has_pointer=True)
    yield Changes(service, editor, admin)
    for person in (editor, admin):
        person.context.close()


def reviewed(changes: Changes, title: str) -> tuple[str, str]:
    """Propose a change, wait for both builds, and return the id of the set and the address of a link."""
    text = repository(changes.service).show(FILE).replace(OLD_TITLE.encode(), NEW_TITLE.encode())
    set_id = propose(changes, title, text.replace(PARAGRAPH.encode(), NEW_PARAGRAPH.encode())).rpartition("/")[2]
    changes.call(f"/change-set/{set_id}/submit", {})
    wait_for_builds(changes, set_id)
    body = {"rights": "approve", "message": "Is the fog right?", "receiver": "Anna"}
    return set_id, changes.call(f"/change-set/{set_id}/review-links", body)["url"]


def open_as_guest(browser: Browser, url: str, *, has_scripts: bool) -> Page:
    page = browser.new_context(java_script_enabled=has_scripts, viewport=PHONE, has_touch=True).new_page()
    if has_scripts:
        page.add_init_script(RECORDER)
        page.add_init_script(path=build_assets().WORK / "node_modules" / "axe-core" / "axe.min.js")
    page.goto(url)
    return page


def picture(page: Page, name: str) -> None:
    if folder := os.environ.get("GALLEY_SCREENSHOTS"):
        page.screenshot(path=Path(folder) / f"guest-{name}.png", full_page=True)


def frame_of(page: Page) -> FrameLocator:
    return page.frame_locator("iframe[data-guest-frame]")


def state_of(changes: Changes, set_id: str) -> str:
    path = f"{changes.service.base}/api/v1/change-set/{set_id}"
    return str(changes.editor.page.request.get(path).json()["result"]["state"])


def correct(changes: Changes, set_id: str) -> None:
    """Change the page again, as its author, and ask for a review."""
    row = changes.editor.page.request.get(f"{changes.service.base}/api/v1/change-set/{set_id}").json()["result"]
    repo = repository(changes.service)
    text = repo.text("show", f"{row['head_sha']}:{FILE}").replace(SENTENCE, "the bell buoy tells the swell")
    file = {"path": FILE, "action": "update", "content": text}
    changes.call(f"/change-set/{set_id}/commit", {"message": "Edit", "base_sha": row["head_sha"], "files": [file]})
    changes.call(f"/change-set/{set_id}/submit", {})
    wait_for_builds(changes, set_id)


@pytest.mark.server
@pytest.mark.slow
def test_guest_comments_on_a_sentence_asks_for_changes_and_approves(changes: Changes, browser: Browser) -> None:
    set_id, url = reviewed(changes, "Words for the fog")
    settings = {"guest_approval": True}
    path, headers = f"{changes.service.base}/api/v1/project/{changes.project_id}", {"Origin": changes.service.base}
    assert changes.admin.page.request.patch(path, data=settings, headers=headers).ok
    page = open_as_guest(browser, url, has_scripts=True)
    expect(page.get_by_text("Is the fog right?")).to_be_visible()
    pages = page.locator(".guest__pages li a")
    for number in range(3):
        pages.nth(number).click()
        picture(page, f"page-{number}")
        expect(frame_of(page).locator("main").first).to_be_visible()
    page.locator(".guest__pages a").filter(has_text="Signals in fog").first.click()
    picture(page, "page")
    page.get_by_label("Your name").fill("Gina Guest")
    page.get_by_role("button", name="Continue").click()
    frame_of(page).get_by_text(SENTENCE).first.click()
    expect(page.locator("[data-guest-quote] blockquote")).to_contain_text(SENTENCE)
    page.get_by_role("button", name="Comment on the selected text").click()
    page.get_by_label("Comment on this page").fill("A buoy does not talk.")
    picture(page, "comment")
    page.get_by_role("button", name="Send the comment").click()
    expect(page.get_by_text("Your comment was sent.")).to_be_visible()
    page.get_by_label("What should be changed?").fill("Please correct the buoy.")
    page.get_by_role("button", name="Ask for changes").click()
    expect(page.get_by_text("Your wishes were sent.")).to_be_visible()
    assert state_of(changes, set_id) == "changes_requested"
    console = Console(changes.service, page)
    assert console.problems() == {}
    console.resize({"width": 1280, "height": 900}, "light")
    picture(page, "wide")
    console.resize(PHONE, "dark")
    picture(page, "dark")
    console.resize(PHONE, "light")
    correct(changes, set_id)
    page.goto(url)
    expect(page.get_by_text("The text here changed.")).to_be_visible()
    page.locator(".guest__pages a").filter(has_text="Signals in fog").first.click()
    expect(frame_of(page).get_by_text("the bell buoy tells the swell")).to_be_visible()
    page.get_by_role("button", name="Approve").click()
    expect(page.get_by_text("You have approved the change.")).to_be_visible()
    picture(page, "approved")
    assert state_of(changes, set_id) == "approved"
    changes.editor.open(f"{changes.project}/changes/{set_id}")
    expect(changes.editor.page.get_by_text("A buoy does not talk.").first).to_be_visible()
    changes.check(changes.editor, "guest-comments")
    changes.editor.open(f"{changes.project}/changes/{set_id}/links")
    changes.check(changes.editor, "links")
    assert changes.findings == {}
    page.context.close()


@pytest.mark.server
@pytest.mark.slow
def test_guest_without_scripts_reviews_until_the_link_is_revoked(changes: Changes, browser: Browser) -> None:
    set_id, url = reviewed(changes, "Later words")
    page = open_as_guest(browser, url, has_scripts=False)
    page.locator(".guest__pages a").filter(has_text="Signals in fog").first.click()
    expect(frame_of(page).get_by_text(NEW_PARAGRAPH)).to_be_visible(timeout=PATIENCE_S * 1000)
    page.get_by_role("link", name="Before", exact=True).click()
    expect(frame_of(page).get_by_text("In fog, sound is a place.")).to_be_visible()
    page.get_by_label("Your name").fill("Paul Plain")
    page.get_by_role("button", name="Continue").click()
    page.get_by_label("Comment on this page").fill("Fine.")
    page.get_by_role("button", name="Send the comment").click()
    expect(page.get_by_text("Your comment was sent.")).to_be_visible()
    page.get_by_label("What should be changed?").fill("Shorter.")
    page.get_by_role("button", name="Ask for changes").click()
    assert state_of(changes, set_id) == "changes_requested"
    picture(page, "plain")
    frame = page.locator("iframe[data-guest-frame]").get_attribute("src")
    assert frame is not None
    links = changes.editor.page.request.get(f"{changes.service.base}/api/v1/change-set/{set_id}/review-links").json()
    headers = {"Origin": changes.service.base}
    path = f"{changes.service.base}/api/v1/review-link/{links['result'][0]['id']}"
    assert changes.editor.page.request.delete(path, headers=headers).ok
    assert page.goto(frame).status == 403  # type: ignore[union-attr]
    assert page.goto(url).status == 410  # type: ignore[union-attr]
    picture(page, "ended")
    page.context.close()
