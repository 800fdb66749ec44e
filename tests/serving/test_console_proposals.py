"""Proposed changes in the editor in Chromium, by keyboard alone: a proposal, saves in it, and the hints on the site.

`GALLEY_SCREENSHOTS=FOLDER` writes each page in both sizes.
"""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.serving.member import Member
from tests.serving.test_console_screens import FILE, RELOADS, VIEWS, Console, repository, running_console

REQUIRE = """async (id) => {
  const body = JSON.stringify({ require_change_sets: true });
  await fetch(`/api/v1/project/${id}`, { method: "PATCH", body, headers: { "Content-Type": "application/json" } });
}"""
"""Permit changes of a project only by change sets."""


@pytest.fixture(scope="module")
def console(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Console]:
    with running_console(browser, tmp_path_factory.mktemp("proposals")) as console:
        console.resize(*VIEWS[0])
        yield console


def check(console: Console, name: str, *, menu: bool = False) -> None:
    """Require that the open page has no finding in both sizes, and take a picture if a folder is set."""
    folder = os.environ.get("GALLEY_SCREENSHOTS")
    for size, theme in VIEWS if folder else ():
        console.resize(size, theme)
        if menu:
            console.page.evaluate("document.querySelector('details.propose').open = true")
        console.page.screenshot(path=Path(str(folder)) / f"{name}-{size['width']}.png")
    console.resize(*VIEWS[0])
    assert console.problems() == {}, name
    console.resize(*VIEWS[0])


def reach(page: Page, selector: str) -> None:
    """Move the focus with the Tab key."""
    for _ in range(RELOADS):
        page.keyboard.press("Tab")
        if page.locator(selector).first.evaluate("each => each === document.activeElement"):
            return
    raise AssertionError(f"the Tab key does not reach {selector}")


def write(page: Page, text: str) -> None:
    """Write at the start of the formatted text."""
    page.locator(".ProseMirror").focus()
    page.keyboard.press("Control+Home")
    page.keyboard.type(text)


@pytest.mark.server
def test_page_is_proposed_and_edited_by_keyboard(console: Console) -> None:
    page, project = console.page, console.sign_in()
    repo = repository(console.service)
    head, url = repo.head(), f"{project}/edit/{FILE}"
    console.open(url, ".ProseMirror")
    write(page, "Listen first. ")
    page.keyboard.press("Escape")
    page.locator(".skip-link").focus()
    reach(page, "details.propose > summary")
    page.keyboard.press("Enter")
    check(console, "propose", menu=True)
    reach(page, "#change-set")
    reach(page, "#change-set-title")
    page.keyboard.press("Control+a")
    page.keyboard.type("Listening")
    reach(page, "details.propose button")
    page.keyboard.press("Enter")
    page.wait_for_url("**/edit/**set=chg_**")
    page.locator(".ProseMirror").wait_for()
    expect(page.locator(".toast")).to_contain_text("Proposed. The site has not changed yet.")
    expect(page.locator("[data-set-banner]")).to_have_text(
        "You are editing “Listening”. Not on the site yet. Show these changes"
    )
    check(console, "in-set")
    in_set = page.url.partition("&")[0].removeprefix(console.service.base)
    write(page, "Really. ")
    page.keyboard.press("Control+s")
    expect(page.locator(".content-header .status")).to_have_text("Saved")
    assert in_set in page.url
    branch = next(name for name in repo.text("branch", "--format=%(refname:short)").split() if name != "main")
    assert (b"Really. Listen first. " in repo.show(FILE, branch), repo.head()) == (True, head)
    console.open(url, ".ProseMirror")
    assert "Listen first" not in page.locator("textarea[name=body]").input_value()
    expect(page.get_by_role("link", name="Also changed in “Listening”")).to_be_visible()
    check(console, "also-changed")
    console.open(f"{project}/collections/content-posts")
    link = page.get_by_role("link", name="Also changed in “Listening”").first
    check(console, "list")
    link.focus()
    page.keyboard.press("Enter")
    page.locator(".ProseMirror").wait_for()
    expect(page.locator("[data-set-banner]")).to_be_visible()
    page.evaluate(REQUIRE, project.rpartition("/")[2])
    console.open(url, ".ProseMirror")
    expect(page.get_by_role("button", name="Save", exact=True)).to_have_count(0)
    expect(page.get_by_role("button", name="Add to “Listening”")).to_be_visible()
    check(console, "required", menu=True)
    page.get_by_text("Delete", exact=True).first.focus()
    page.keyboard.press("Enter")
    page.locator(".disclosure--danger .button--danger").scroll_into_view_if_needed()
    check(console, "delete")
    assert page.evaluate("problems") == []


@pytest.mark.server
def test_reply_to_a_comment_in_the_editor_keeps_the_text(console: Console) -> None:
    page, editor = console.page, Member(console.service, "editor")
    project = console.sign_in()
    api, text = "/api/v1/change-set", repository(console.service).show(FILE).decode()
    owner = Member(console.service)
    made = owner.call(f"/api/v1/project/{owner.project}/change-sets", {"title": "Reviewed"})
    file = {"path": FILE, "action": "update", "content": text.replace("In fog", "In thick fog")}
    owner.call(f"{api}/{made['id']}/commit", {"message": "Fog", "base_sha": made["head_sha"], "files": [file]})
    owner.call(f"{api}/{made['id']}/submit", {})
    editor.call(f"{api}/{made['id']}/reviews", {"verdict": "changes", "body": "Please say where the horn stands."})
    for pointer, body in (("/title", "Shorter, please."), (None, "Is this the right picture for the autumn?")):
        editor.call(f"{api}/{made['id']}/comments", {"body": body, "path": FILE, "pointer": pointer})
    console.open(f"{project}/edit/{FILE}?set={made['id']}", ".ProseMirror")
    expect(page.locator(".editor__review")).to_contain_text("Please say where the horn stands.")
    write(page, "Typed now. ")
    check(console, "comments")
    console.resize(*VIEWS[1])
    comments, typed = (page.locator(selector).bounding_box() for selector in (".editor__comments", ".ProseMirror"))
    assert comments is not None
    assert typed is not None
    assert comments["y"] > typed["y"] + typed["height"]
    console.resize(*VIEWS[0])
    comment = page.locator(".editor__comments .comment").first
    comment.locator("summary").click()
    comment.get_by_label("Your reply").fill("Done.")
    comment.get_by_role("button", name="Reply").click()
    expect(page.locator(".editor__comments .comment")).to_have_count(3)
    page.locator(".editor__comments .comment").nth(1).get_by_role("button", name="Resolve").click()
    expect(page.locator(".editor__comments .badge")).to_have_text(["Resolved"])
    assert "Typed now. " in page.locator("textarea[name=body]").input_value()
    check(console, "answered")
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.locator(".toast")).to_contain_text("Saved")
    save = page.get_by_role("button", name="Save", exact=True)
    console.open(f"{project}/edit/{FILE}?set={made['id']}", ".ProseMirror")
    expect(save).to_have_attribute("aria-disabled", "true")
    comment.locator("summary").click()
    comment.get_by_label("Your reply").fill("One more.")
    expect(save).to_have_attribute("aria-disabled", "false")
    with page.expect_event("dialog") as dialog:
        page.once("dialog", lambda dialog: dialog.dismiss())
        page.evaluate("location.assign('/console')")
    assert dialog.value.type == "beforeunload"
    page.keyboard.press("Control+s")
    expect(page.locator(".editor__comments .comment")).to_have_count(4)
    expect(page.locator(".editor__comments")).to_contain_text("One more.")
    expect(save).to_have_attribute("aria-disabled", "true")
    page.locator("details.propose > summary").click()
    check(console, "ask-review", menu=True)
    page.locator("details.propose button").click()
    expect(page.locator(".toast")).to_contain_text("Proposed. The site has not changed yet.")
    expect(page.locator("details.propose")).to_have_count(0)
    console.open(f"{project}/changes/{made['id']}")
    expect(page.get_by_text("3 comments are not resolved").first).to_be_visible()
    check(console, "unresolved")
    assert page.evaluate("problems") == []


@pytest.mark.server
def test_three_drafts_are_proposed_with_eleven_taps_on_a_phone(console: Console) -> None:
    page, project = console.page, console.sign_in()
    console.resize(*VIEWS[1])
    console.open(project, "main")
    for number in range(3):
        page.locator(".latest__title a").nth(number).click()
        page.locator(".ProseMirror").click()
        page.keyboard.type("Mine. ")
        expect(page.locator(".content-header .status")).to_contain_text("raft", timeout=20_000)
        page.go_back()
    page.reload()
    page.locator("details.propose > summary").click()
    page.locator("details.propose button[value=review]").click()
    page.wait_for_url("**/changes/chg_**")
    expect(page.locator(".toast")).to_contain_text("Proposed. The site has not changed yet.")
    expect(page.locator(".changed-page")).to_have_count(3)
