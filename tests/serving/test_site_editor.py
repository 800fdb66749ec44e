"""Editing on the page in Chromium: a click opens the text, the preview follows it, and the save changes one line.

`GALLEY_SCREENSHOTS=FOLDER` writes the page in both sizes.
"""

import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, FrameLocator, Locator, Page, expect

from tests.serving.console_steps import Repository
from tests.serving.test_console_screens import FINDINGS, PNG, VIEWS, Console, repository, running_console

AT = "/posts/fog-signals/"
SENTENCE = "In fog, sound is a place."
TEAM = b"- name: Ann Marsh\n  task: Keeper of the light\n- name: Bo Lund\n  task: Mender of old nets\n"
TABLE = b"---\ntitle: Opening hours\n---\n\n| Day | Hours |\n|-----|-------|\n| On Monday | From nine to five |\n| On Friday | Closed all day |\n\n* one\n* other thing\n"
BOATS = b"""---
title: Boats
layout: cards
cards:
  - {name: Launch of the boat, day: 2026-05-01}
---

The first words.

![An old boat](/images/boat.png)
"""
ARABIC = """---
title: الميناء
layout: rtl
---

نص الصفحة الأول.
"""
RTL = """<!doctype html><html lang="ar" dir="rtl"><title>{{ .Title }}</title><main><h1>{{ .Title }}</h1>{{ .Content }}
<details><summary>الأسئلة</summary><p>الجواب هنا</p></details></main></html>"""
CARDS = b'{{ define "main" }}<article><h1>{{ .Title }}</h1>{{ range .Params.cards }}<p>{{ .name }} <time>{{ .day }}</time></p>{{ end }}{{ .Content }}</article>{{ end }}'
PERSONS = b"{{ range site.Data.team }}<p>{{ .name }}: <span>{{ .task }}</span></p>{{ end }}{{ end }}"


@pytest.fixture(scope="module")
def console(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Console]:
    with running_console(browser, tmp_path_factory.mktemp("site")) as console:
        repo = repository(console.service)
        home = repo.show("layouts/index.html").rstrip().removesuffix(b"{{ end }}") + PERSONS
        files = {"data/team.yaml": TEAM, "content/hours.md": TABLE, "layouts/index.html": home}
        files |= {"content/boats.md": BOATS, "static/images/boat.png": PNG, "layouts/_default/cards.html": CARDS}
        repo.commit(files | {"content/ar.md": ARABIC.encode(), "layouts/_default/rtl.html": RTL.encode()}, "Add pages")
        yield console


@pytest.fixture(scope="module")
def project(console: Console) -> str:
    return console.sign_in()


def open_site(console: Console, project: str, at: str, title: str) -> FrameLocator:
    """Open the site at an address, and return the frame when it shows the entry."""
    console.resize(*VIEWS[0])
    console.open(f"{project}/site?at={at}", "[data-site-stage]:not([hidden])")
    expect(console.page.locator("[data-site-title]")).to_have_text(re.compile(title))
    return console.page.frame_locator("[data-site-frame]")


@pytest.fixture
def site(console: Console, project: str) -> FrameLocator:
    """The page of the demo in the frame."""
    return open_site(console, project, AT, "Fog signals|Signals in fog")


def picture(page: Page, name: str) -> None:
    if folder := os.environ.get("GALLEY_SCREENSHOTS"):
        page.screenshot(path=Path(folder) / f"site-{name}.png")


def panel_of(page: Page) -> Locator:
    return page.get_by_role("dialog")


def click_text(page: Page, site: FrameLocator, text: str) -> None:
    """Click a paragraph, and wait until its end can be typed."""
    site.get_by_text(text).click()
    expect(panel_of(page).locator(".ProseMirror")).to_be_focused()


@pytest.mark.server
@pytest.mark.slow
def test_heading_and_paragraph_are_typed_shown_and_saved_as_one_change(console: Console, site: FrameLocator) -> None:
    page, saved = console.page, Repository(repository(console.service))
    site.locator("article h1").click()
    panel = panel_of(page)
    title = panel.get_by_label("Title")
    expect(title).to_be_focused()
    picture(page, "title")
    title.fill("Signals in fog")
    expect(site.locator("article h1")).to_have_text("Signals in fog")
    panel.get_by_role("button", name="Done").click()
    site.get_by_text(SENTENCE).click()
    editor = panel.locator(".ProseMirror")
    expect(editor).to_be_focused()
    expect(editor.locator("> :visible")).to_have_count(1)
    picture(page, "paragraph")
    page.keyboard.press("Control+a")
    page.keyboard.press("ArrowRight")
    page.keyboard.type(" Listen.")
    expect(site.get_by_text("Listen.")).to_be_visible()
    assert page.evaluate(FINDINGS) == []
    panel.get_by_role("button", name="Done").click()
    expect(panel).to_be_hidden()
    page.get_by_text("Details of this page").click()
    expect(page.locator("[data-site-details]")).to_contain_text("8 of 9 texts can be changed here")
    picture(page, "details")
    assert page.evaluate(FINDINGS) == []
    page.keyboard.press("Escape")
    expect(page.get_by_text("Changed pages, not saved: 1")).to_be_visible()
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.locator(".toast")).to_contain_text("Saved")
    changed = saved.changed()
    assert [line for line in changed if line.startswith("+")] == [
        "+title: Signals in fog",
        next(line for line in changed if "Listen." in line),
    ]
    assert len(changed) == 4


@pytest.mark.server
@pytest.mark.slow
def test_escape_and_undo_restore_the_text(console: Console, site: FrameLocator, project: str) -> None:
    page, panel = console.page, panel_of(console.page)
    click_text(page, site, "Sit on the quay")
    page.keyboard.type(" Never.")
    expect(site.get_by_text("Never.")).to_be_visible()
    page.keyboard.press("Escape")
    expect(panel).to_be_hidden()
    expect(site.get_by_text("Never.")).to_have_count(0)
    click_text(page, site, "Sit on the quay")
    page.keyboard.type(" Twice.")
    expect(site.get_by_text("Twice.")).to_be_visible()
    panel.get_by_role("button", name="Done").click()
    page.locator("[data-site-undo]").click()
    expect(site.get_by_text("Twice.")).to_have_count(0)
    expect(page.get_by_text("Click a text to change it.")).to_be_visible()
    console.open(project)
    expect(page.get_by_text("My drafts")).to_have_count(0)


@pytest.mark.server
@pytest.mark.slow
def test_phone_shows_a_sheet_and_the_mode_is_remembered(console: Console, site: FrameLocator, project: str) -> None:
    page, panel = console.page, panel_of(console.page)
    console.resize(*VIEWS[1])
    site.get_by_text("What the blasts mean").click()
    box = panel.bounding_box()
    assert box is not None
    assert (box["x"], box["width"], box["y"] + box["height"]) == (0, 390, 844)
    picture(page, "sheet")
    assert page.evaluate(FINDINGS) == []
    panel.get_by_role("button", name="Cancel").click()
    expect(panel).to_be_hidden()
    page.get_by_role("button", name="Browse").click()
    console.open(f"{project}/site")
    expect(page.get_by_role("button", name="Browse")).to_have_attribute("aria-pressed", "true")
    page.get_by_role("button", name="Edit", exact=True).click()


@pytest.mark.server
@pytest.mark.slow
def test_item_of_a_list_and_a_table_cell_change_one_line_each(console: Console, project: str) -> None:
    page, panel, saved = console.page, panel_of(console.page), Repository(repository(console.service))
    site = open_site(console, project, "/", "The Harbour Journal")
    site.get_by_text("Mender of old nets").click()
    expect(panel.get_by_role("textbox", name="Name")).to_have_value("Bo Lund")
    panel.get_by_role("textbox", name="Task").fill("Mender of nets")
    expect(site.get_by_text("Mender of nets")).to_be_visible()
    page.get_by_label("Address in the site").fill("/hours/")
    page.get_by_label("Address in the site").press("Enter")
    expect(page.locator("[data-site-title]")).to_have_text(re.compile("[Hh]ours"))
    click_text(page, site, "From nine to five")
    expect(panel.locator(".ProseMirror > :visible")).to_have_count(1)
    page.keyboard.type(" sharp")
    expect(site.get_by_text("From nine to five sharp")).to_be_visible()
    assert page.evaluate(FINDINGS) == []
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.locator(".toast")).to_contain_text("Saved")
    added = sorted(line for line in saved.changed() if line.startswith("+"))
    assert added == ["+  task: Mender of nets", "+| On Monday | From nine to five sharp |"]


@pytest.mark.server
@pytest.mark.slow
def test_card_of_another_page_leads_to_it_and_back(console: Console, project: str) -> None:
    page, panel = console.page, panel_of(console.page)
    site = open_site(console, project, "/", "The Harbour Journal")
    site.get_by_role("link", name="Winter berths").click()
    expect(panel.get_by_label("Title")).to_have_value(re.compile("Winter berths"))
    expect(panel.get_by_role("link", name="Edit this page")).to_have_attribute(
        "href", re.compile("/edit/content/posts/")
    )
    panel.get_by_role("button", name="Go to this page").click()
    expect(page.locator("[data-site-title]")).to_have_text(re.compile("Winter berths"))
    expect(page.get_by_label("Address in the site")).to_have_value(re.compile("^/posts/.+"))
    page.get_by_role("button", name="Back").click()
    expect(page.get_by_label("Address in the site")).to_have_value("/")
    page.get_by_role("button", name="Forward").click()
    expect(page.get_by_label("Address in the site")).to_have_value(re.compile("^/posts/.+"))


@pytest.mark.server
@pytest.mark.slow
def test_canceled_value_is_not_sent_again_and_other_texts_answer(console: Console, site: FrameLocator) -> None:
    page, panel = console.page, panel_of(console.page)
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    site.locator("article h1").click()
    panel.get_by_label("Title").press_sequentially(" at sea")
    expect(site.locator("article h1")).to_contain_text("at sea")
    page.keyboard.press("Escape")
    expect(site.locator("article h1")).not_to_contain_text("at sea")
    site.get_by_text("27 May 2026").click()
    expect(page.locator(".toast")).to_have_text("This text cannot be changed on the page.")
    expect(panel).to_be_hidden()
    page.get_by_role("button", name="Save", exact=True).click(force=True)
    expect(page.locator(".toast")).to_have_text("Nothing was changed")
    assert errors == []


@pytest.mark.server
@pytest.mark.slow
def test_text_typed_before_a_reload_is_a_draft_that_a_later_visit_saves(
    console: Console, site: FrameLocator, project: str
) -> None:
    page, panel = console.page, panel_of(console.page)
    click_text(page, site, "Sit on the quay")
    page.keyboard.type(" Wait.")
    page.reload()
    site.get_by_text("Sit on the quay").click()
    expect(panel.locator(".ProseMirror")).to_contain_text("Wait.")
    page.evaluate("sessionStorage.clear()")
    site = open_site(console, project, AT, "Fog signals|Signals in fog")
    page.get_by_text("My drafts").click()
    expect(page.locator("[data-site-drafts] a")).to_have_text(re.compile("Fog signals|Signals in fog"))
    page.get_by_text("My drafts").click()
    site.get_by_text("Sit on the quay").click()
    expect(panel.locator(".ProseMirror")).to_contain_text("Wait.")
    expect(page.get_by_text("Click a text to change it.")).to_be_visible()
    panel.get_by_role("button", name="Done").click()
    expect(page.get_by_text("Changed pages, not saved: 1")).to_be_visible()
    expect(page.get_by_text("My drafts")).to_have_count(0)
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.locator(".toast")).to_contain_text("Saved")


STOP = """async () => {
  const projectId = document.querySelector("[data-site-page]").dataset.project;
  const headers = { "Content-Type": "application/json", Accept: "application/json" };
  const send = async (url, body) => (await (await fetch(url, { method: "POST", headers, body: JSON.stringify(body) })).json()).result;
  const { sandboxId } = await send("/api/sandbox/create", { projectId, editable: true });
  return (await send("/api/sandbox/stop", { sandboxId })).ok;
}"""


@pytest.mark.server
@pytest.mark.slow
def test_preview_that_ended_shows_the_drafts_of_the_visit_after_its_next_start(
    console: Console, site: FrameLocator
) -> None:
    page, panel = console.page, panel_of(console.page)
    click_text(page, site, "Sit on the quay")
    page.keyboard.type(" Stay.")
    panel.get_by_role("button", name="Done").click()
    expect(panel).to_be_hidden()
    assert page.evaluate(STOP) is True
    page.reload()
    expect(site.get_by_text("Stay.")).to_be_visible()
    page.locator("[data-site-status]").evaluate("(status) => { status.textContent = 'The page is loading.'; }")
    page.get_by_role("button", name="Reload").click()
    expect(page.locator("[data-site-status]")).to_be_empty()
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.locator(".toast")).to_contain_text("Saved")


@pytest.mark.server
@pytest.mark.slow
def test_new_entry_opens_on_the_page_and_is_saved_with_the_visit(console: Console, project: str) -> None:
    """Its draft is written into the preview. A page that the site does not show leads to its form."""
    site = open_site(console, project, AT, "Fog signals|Signals in fog")
    page, saved = console.page, Repository(repository(console.service))
    page.locator("[data-site-new] summary").click()
    picture(page, "new-menu")
    page.locator("[data-site-new]").get_by_role("link", name="New entry: Posts").click()
    dialog = page.get_by_role("dialog", name="Posts")
    dialog.get_by_label("Title").fill("A new light")
    dialog.locator("[type=submit]").click()
    expect(page.locator("[data-site-title]")).to_have_text("A new light")
    expect(site.locator("article h1")).to_have_text("A new light")
    expect(page.get_by_text("Changed pages, not saved: 1")).to_be_visible()
    picture(page, "new-page")
    site.locator("article h1").click()
    panel_of(page).get_by_label("Title").fill("A new lighthouse")
    panel_of(page).get_by_role("button", name="Done").click()
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.locator(".toast")).to_contain_text("Saved")
    assert "+title: A new lighthouse" in saved.changed()


@pytest.mark.server
@pytest.mark.slow
def test_picture_and_date_of_a_card_change_one_line_each(console: Console, project: str) -> None:
    page, panel, saved = console.page, panel_of(console.page), Repository(repository(console.service))
    site = open_site(console, project, "/boats/", "Boats")
    site.get_by_role("img", name="An old boat").click()
    shown = panel.locator("img[data-source]")
    expect(shown).to_be_visible()
    picture(page, "picture")
    shown.click()
    panel.get_by_role("button", name="Image").click()
    dialog = page.get_by_role("dialog").filter(has=page.get_by_text("Describe the image"))
    dialog.get_by_role("textbox").fill("A boat of 1910")
    dialog.get_by_role("button", name="Apply").click()
    expect(site.get_by_role("img", name="A boat of 1910")).to_be_visible()
    panel.get_by_role("button", name="Done").click()
    site.get_by_text("Launch of the boat").click()
    panel.get_by_role("textbox", name="Day").fill("2026-06-01")
    picture(page, "card")
    expect(site.get_by_text("2026-06-01")).to_be_visible()
    assert page.evaluate(FINDINGS) == []
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.locator(".toast")).to_contain_text("Saved")
    assert [line for line in saved.changed() if line.startswith("+")] == [
        "+  - {name: Launch of the boat, day: 2026-06-01}",
        "+![A boat of 1910](/images/boat.png)",
    ]


@pytest.mark.server
@pytest.mark.slow
def test_client_on_a_phone_corrects_a_word_and_proposes_it(console: Console, project: str) -> None:
    """The page is written from right to left, and its accordion and its link act."""
    page, panel, saved = console.page, panel_of(console.page), Repository(repository(console.service))
    site = open_site(console, project, "/ar/", "الميناء")
    console.resize(*VIEWS[1])
    page.get_by_role("button", name="Browse").click()
    site.get_by_text("الأسئلة").click()
    expect(site.get_by_text("الجواب هنا")).to_be_visible()
    page.get_by_role("button", name="Edit", exact=True).click()
    click_text(page, site, "نص الصفحة الأول")
    page.keyboard.type(" جديد")
    expect(site.get_by_text("نص الصفحة الأول. جديد")).to_be_visible()
    picture(page, "right-to-left")
    assert page.evaluate(FINDINGS) == []
    panel.get_by_role("button", name="Done").click()
    page.locator("summary").filter(has_text="Propose").click()
    page.get_by_label("Title of the new changes").fill("A word")
    page.get_by_role("button", name="Propose", exact=True).click()
    page.wait_for_url("**/changes/**")
    expect(page.get_by_role("heading", name="A word")).to_be_visible()
    assert saved.changed() == []
    site = open_site(console, project, "/ar/", "الميناء")
    expect(site.get_by_text("نص الصفحة الأول.", exact=True)).to_be_visible()
    expect(page.get_by_text("Click a text to change it.")).to_be_visible()


@pytest.mark.server
@pytest.mark.slow
def test_conflict_while_the_page_is_open_saves_nothing_and_compares(console: Console, project: str) -> None:
    page, panel, saved = console.page, panel_of(console.page), Repository(repository(console.service))
    site = open_site(console, project, "/boats/", "Boats")
    click_text(page, site, "The first words")
    page.keyboard.type(" of mine")
    panel.get_by_role("button", name="Done").click()
    expect(panel).to_be_hidden()
    saved.push("content/boats.md", "The first words.", "The first words of a colleague.", "Change the same line")
    page.get_by_role("button", name="Save", exact=True).click()
    page.wait_for_url("**/conflict/content/boats.md")
    expect(page.locator("main")).to_contain_text("of a colleague")
    assert saved.changed() == []
    page.go_back()
    expect(page.get_by_text("Changed pages, not saved: 1")).to_be_visible()
