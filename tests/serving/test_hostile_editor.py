"""Hostile pages in "Edit on the page" in Chromium, the short form of `tests/faults/test_hostile_site_editor.py`.

A page of the site alone changes, reads and opens nothing, and takes no clicks that are meant for the console.
"""

import re
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, Locator, expect

from tests.serving.hostile_site import SHORT
from tests.serving.hostile_visit import REST_MS, HostileVisit, hostile_visit

pytestmark = [pytest.mark.server, pytest.mark.slow]


@pytest.fixture(scope="module")
def visit(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[HostileVisit]:
    with hostile_visit(browser, tmp_path_factory.mktemp("hostile")) as visit:
        yield visit


@pytest.mark.parametrize("slug", SHORT)
def test_page_alone_changes_and_reads_nothing(visit: HostileVisit, slug: str) -> None:
    visit.check(slug)


def open_title(visit: HostileVisit, slug: str) -> Locator:
    """Open the page, click its heading, type at the end of the title, and return the field."""
    visit.open(slug)
    visit.frame.locator("h1").click()
    title = visit.page.get_by_role("dialog").get_by_label("Title")
    expect(title).to_be_focused(timeout=15_000)
    visit.page.keyboard.press("End")
    visit.page.keyboard.type(" again", delay=40)
    return title


def cancel(visit: HostileVisit) -> None:
    visit.page.get_by_role("button", name="Cancel").click()
    expect(visit.page.get_by_role("dialog")).to_be_hidden()


def test_page_does_not_drop_a_text_that_is_typed(visit: HostileVisit) -> None:
    title = open_title(visit, "message-exposed")
    for message in ("{type: 'leave'}", "{type: 'move', rect: null}"):
        visit.frame.evaluate(f"for (let count = 0; count < 50; count++) send({message})")
    visit.frame.evaluate("selected({numbers: [0]})")
    visit.page.wait_for_timeout(REST_MS)
    expect(title).to_have_value("Title of message-exposed again")
    expect(title).to_be_focused()
    cancel(visit)


def test_panel_that_moves_below_the_pointer_takes_no_click(visit: HostileVisit) -> None:
    title, page = open_title(visit, "message-moving"), visit.page
    panel, button = page.get_by_role("dialog").bounding_box(), page.get_by_role("button", name="Cancel").bounding_box()
    frame = page.locator("[data-site-frame]").bounding_box()
    assert panel is not None
    assert button is not None
    assert frame is not None
    x, y = frame["x"] + frame["width"] - 200, frame["y"] + frame["height"] - 40
    page.mouse.move(x, y)
    rect = {
        "x": x - (button["x"] - panel["x"]) - 10 - frame["x"],
        "y": y - (button["y"] - panel["y"]) - 10 - frame["y"] - 28,
        "width": 200,
        "height": 20,
    }
    visit.frame.evaluate("rect => send({type: 'move', rect})", rect)
    page.wait_for_timeout(REST_MS)
    assert page.evaluate("([x, y]) => document.elementFromPoint(x, y).textContent", [x, y]) == "Cancel"
    page.mouse.down()
    page.mouse.up()
    expect(title).to_have_value("Title of message-moving again")
    page.mouse.move(x + 1, y)
    page.mouse.down()
    page.mouse.up()
    expect(page.get_by_role("dialog")).to_be_hidden()


@pytest.mark.parametrize("slug", ["message-connect-endless", "message-nested-flood", "message-move-flood"])
def test_page_that_floods_is_closed_and_a_person_can_load_another(visit: HostileVisit, slug: str) -> None:
    page = visit.page
    visit.open(slug)
    expect(page.get_by_role("alert").get_by_text("it sent too many messages")).to_be_visible()
    expect(page.locator("[data-site-frame]")).to_have_count(0)
    page.get_by_label("Address in the site").fill("/posts/fog-signals/")
    page.get_by_label("Address in the site").press("Enter")
    expect(page.locator("[data-site-title]")).to_have_text(re.compile("Fog signals"))
    expect(page.get_by_role("alert")).to_be_hidden()


TYPED = "The quick brown fox jumps over the lazy dog. " * 4
MAX_STOLEN = 10
"""A page receives at most what is typed between two tasks of the browser, four times. Usually it receives nothing."""


def test_page_that_takes_the_keyboard_is_closed(visit: HostileVisit, capsys: pytest.CaptureFixture[str]) -> None:
    page = visit.page
    visit.open("attempt-focus")
    visit.frame.locator("h1").click()
    title = page.get_by_role("dialog").get_by_label("Title")
    expect(title).to_be_visible(timeout=15_000)
    page.keyboard.press("End")
    page.keyboard.type(TYPED, delay=30)
    expect(page.get_by_role("alert").get_by_text("it took the keyboard")).to_be_visible()
    expect(title).to_be_focused()
    stolen = len([key for key in visit.reported("key") if len(key) == 1])
    with capsys.disabled():
        print(f"\n  keys of {len(TYPED)} that the page received: {stolen}")
    assert stolen <= MAX_STOLEN
    assert len(title.input_value()) >= len(TYPED) - stolen
    cancel(visit)


def test_click_of_a_person_in_the_page_opens_the_next_text_without_loss(visit: HostileVisit) -> None:
    page = visit.page
    page.goto(f"{visit.console.service.base}{visit.project}/site?at=/posts/fog-signals/")
    expect(page.locator("[data-site-title]")).to_have_text(re.compile("Fog signals"))
    heading, title = visit.frame.locator("article h1"), page.get_by_role("dialog").get_by_label("Title")
    heading.click()
    expect(title).to_be_focused()
    page.keyboard.press("End")
    page.keyboard.type(" again")
    page.wait_for_timeout(REST_MS)
    visit.frame.get_by_text("Sit on the quay").click()
    expect(page.get_by_role("dialog").locator(".ProseMirror")).to_be_focused()
    heading.click()
    expect(title).to_have_value(re.compile(" again$"))
    expect(page.get_by_role("alert")).to_be_hidden()
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Undo").click()
    expect(page.get_by_text("Click a text to change it.")).to_be_visible()


def other_title(visit: HostileVisit, path: str) -> int:
    """Return the number of the title of another file, as the open page can guess it."""
    first = visit.frame.evaluate("first")
    numbers = range(max(first - 200, 0), first + 200)
    answer = visit.page.request.get(
        f"{visit.console.service.base}{visit.project}/site/marks?numbers={','.join(map(str, numbers))}",
        headers={"Accept": "application/json"},
    )
    marks: list[dict[str, Any]] = answer.json()["marks"]
    return next(mark["number"] for mark in marks if (mark["path"], mark["pointer"]) == (path, "/title"))


def test_draft_reaches_the_preview_only_when_a_person_chooses_it(visit: HostileVisit) -> None:
    page, draft = visit.page, "content/hostile/message-moving.md"
    open_title(visit, "message-moving")
    page.get_by_role("button", name="Done").click()
    expect(page.get_by_text("Changed pages, not saved: 1")).to_be_visible()
    page.evaluate("sessionStorage.clear()")
    visit.open("message-exposed")
    number = other_title(visit, draft)
    for text in ("another text", "e"):
        visit.requests.clear()
        visit.frame.evaluate(f"numbers => {{ chosen = numbers; shownText = {text!r}; }}", [number])
        visit.frame.locator("h1").click()
        panel = page.get_by_role("dialog")
        expect(panel.get_by_text("You have a draft of this page")).to_be_visible()
        expect(page.get_by_text("Click a text to change it.")).to_be_visible()
        page.wait_for_timeout(REST_MS)
        assert [request.url for request in visit.requests if request.method == "POST"] == []
        panel.get_by_role("button", name="Cancel").click()
    visit.frame.locator("h1").click()
    with page.expect_request(re.compile("/preview-text/")):
        page.get_by_role("button", name="Show my draft").click()
    expect(page.get_by_text("Changed pages, not saved: 1")).to_be_visible()
    page.evaluate("sessionStorage.clear()")
