"""The built site of a set of changes: Hugo builds both versions, and an editor compares a page in Chromium.

`GALLEY_SCREENSHOTS=FOLDER` writes each view in both sizes and themes.
"""

import time
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, FrameLocator, expect

from tests.serving.processes import Service, running_prepared
from tests.serving.test_console_changes import OLD_TITLE, PARAGRAPH, Changes, propose, sign_in
from tests.serving.test_console_screens import FILE, repository
from tests.support.console_assets import build_assets

NEW_TITLE, NEW_PARAGRAPH = "title: Signals in fog", "In fog, sound is a person."
MARKS = "[data-galley-change]"
PATIENCE_S = 240


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    build_assets()
    with running_prepared(tmp_path_factory.mktemp("built"), BUILD_PROCESSES="1") as service:
        service.wait_for("job=content.index")
        yield service


def wait_for_builds(changes: Changes, url: str) -> None:
    """Wait until the pages that change are known."""
    path = f"{changes.service.base}/api/v1/change-set/{url.rpartition('/')[2]}/pages"
    ends = time.monotonic() + PATIENCE_S
    state = None
    while state != "ready":
        assert time.monotonic() < ends, state
        state = changes.editor.page.request.get(path).json()["meta"]["state"]
        assert state != "failed"
        time.sleep(1)


@pytest.mark.server
@pytest.mark.slow
def test_changed_page_is_compared_with_and_without_scripts(service: Service, browser: Browser) -> None:
    editor = sign_in(browser, service, "editor", has_scripts=True, has_pointer=False)
    plain = sign_in(browser, service, "admin", has_scripts=False, has_pointer=True)
    changes = Changes(service, editor, plain)
    text = repository(service).show(FILE).replace(OLD_TITLE.encode(), NEW_TITLE.encode())
    url = propose(changes, "Words for the fog", text.replace(PARAGRAPH.encode(), NEW_PARAGRAPH.encode()))
    changes.call(f"/change-set/{url.rpartition('/')[2]}/submit", {})
    wait_for_builds(changes, url)

    editor.open(url)
    changes.check(editor, "set-built")
    editor.follow("Signals in fog – The Harbour Journal")
    for person in (editor, plain):
        person.page.goto(editor.page.url)
        frames = {name: person.page.frame_locator(f".site-pair__side--{name} iframe") for name in ("before", "after")}
        expect_marked(frames["before"], "In fog, sound is a place.")
        expect_marked(frames["after"], NEW_PARAGRAPH)
        expect(person.page.locator(".compare ins").filter(has_text="person")).to_have_count(1)
        changes.check(person, "site-page" if person.has_scripts else "site-page-plain")
        before, after = (person.page.locator(f".site-pair__side--{name}") for name in frames)
        person.page.get_by_role("radio", name="Before").check()
        expect(before).to_be_visible()
        expect(after).to_be_hidden()
        person.page.get_by_role("radio", name="Both").check()
        person.page.get_by_role("radio", name="Phone").check()
        expect(after.locator("iframe")).to_have_css("width", "390px")
        changes.check(person, f"site-page-phone{'' if person.has_scripts else '-plain'}")
    with plain.context.expect_page() as opened:
        plain.page.get_by_role("link", name="Open the site: After").click()
    expect(opened.value.get_by_text(NEW_PARAGRAPH)).to_be_visible()
    expect(opened.value.locator(MARKS)).to_have_count(0)
    assert (changes.findings, editor.faults, plain.faults) == ({}, [], [])
    for person in (editor, plain):
        person.context.close()


def expect_marked(frame: FrameLocator, text: str) -> None:
    """Expect a text with a border that is visible without scrolling."""
    marked = frame.locator(MARKS).filter(has_text=text)
    expect(marked.first).to_be_visible()
    expect(marked.first).to_have_css("outline-style", "solid")
    expect(frame.locator(MARKS).first).to_be_in_viewport()
