"""Hostile pages in "Edit on the page" in Chromium, the short form of `tests/faults/test_hostile_site_editor.py`.

A page of the site alone changes, reads and opens nothing, and takes no clicks that are meant for the console.
"""

from collections.abc import Iterator

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
