"""The editor in Chromium: AI suggestions, a preview that follows the typed text, the log of a failed start, and images."""

import base64
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, FrameLocator, Page, Route, ViewportSize, expect

from tests.serving.member import Member
from tests.serving.test_console_screens import FINDINGS, PNG, Console, running_console
from tests.support.doubles.ai import AiDouble, ModelReply, say
from tests.support.samples.gitrepo import GitRepo

WIDE: ViewportSize = {"width": 1280, "height": 900}
NARROW: ViewportSize = {"width": 390, "height": 844}
FILE = "content/posts/fog-signals.md"
START_MS = 60_000
OLD, NEW = "sound is a place", "sound is a map"
MESSAGE = {"type": "docs", "scope": "posts", "subject": "Explain the sound", "body": "It is clearer."}
ANSWER_MS = 20_000


def reply(body: dict[str, Any]) -> ModelReply:
    """Return the reply of the model to one of the requests of the panel."""
    prompt = "\n".join(str(message["content"]) for message in body["messages"])
    if "conventional" in prompt.lower():
        return say(json.dumps(MESSAGE))
    if "What is a bell buoy?" in prompt:
        return say("A buoy ", "with a bell.")
    if "Correct spelling" in prompt:
        start = prompt.index("In fog")
        return say(prompt[start : prompt.index("it sounds.", start)].replace(OLD, NEW) + "it sounds.\n")
    return say(" The keeper rings it.")


@pytest.fixture(scope="module")
def console(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Console]:
    """A console with a model."""
    with AiDouble() as double:
        double.answer_to = reply
        model = {"AI_PROVIDER": "openai", "AI_MODEL": "m", "OPENAI_BASE_URL": double.url, "OPENAI_API_KEY": "key"}
        with running_console(browser, tmp_path_factory.mktemp("editor"), **model) as console:
            yield console


@pytest.fixture(scope="module")
def project(console: Console) -> str:
    """The path of the demo project for the signed-in user."""
    return console.sign_in()


def toggle_preview(page: Page) -> None:
    """Press the tab of the preview."""
    page.locator("[data-panel-toggle=preview]").click()


def frame_of(page: Page) -> FrameLocator:
    """Return the preview in the panel."""
    return page.frame_locator("iframe[data-preview-frame]")


@pytest.mark.server
def test_suggestions_change_the_text_only_when_accepted(console: Console, project: str) -> None:
    page = console.page
    console.resize(WIDE, "light")
    console.open(f"{project}/edit/{FILE}", ".ProseMirror")
    page.locator("[data-panel-toggle=assistant]").click()
    text, cards = page.locator(".ProseMirror"), page.locator(".panel__card")
    page.get_by_label("Question or instruction").fill("What is a bell buoy?")
    page.get_by_role("button", name="Ask", exact=True).click()
    expect(cards.nth(1)).to_contain_text("A buoy with a bell.", timeout=ANSWER_MS)
    page.get_by_role("button", name="Correct spelling and grammar").click()
    expect(cards.nth(2).locator("ins")).to_contain_text(NEW, timeout=ANSWER_MS)
    expect(text).to_contain_text(OLD)
    page.get_by_role("button", name="Use this text").click()
    expect(text).to_contain_text(NEW)
    cards.nth(2).get_by_role("button", name="Undo").click()
    expect(text).to_contain_text(OLD)
    page.get_by_role("button", name="Use this text").click()
    page.get_by_role("button", name="Suggest a text").click()
    expect(page.get_by_label("What did you change?")).to_have_value(MESSAGE["subject"], timeout=ANSWER_MS)
    assert page.evaluate(FINDINGS) == []
    page.keyboard.press("Control+s")
    expect(page.locator(".toast")).to_be_visible()


@pytest.mark.server
def test_title_is_a_line_above_the_text_and_fields_are_next_to_it_or_a_tab(console: Console, project: str) -> None:
    page = console.page
    console.resize({"width": 1440, "height": 900}, "light")
    console.open(f"{project}/edit/content/posts/winter-berths.md", ".ProseMirror")
    title, text, fields = (
        page.locator("textarea[name='fm.title']"),
        page.locator(".ProseMirror"),
        page.get_by_label("Date", exact=True),
    )
    boxes = [each.bounding_box() for each in (title, text, fields)]
    assert all(boxes)
    title_box, text_box, fields_box = (box for box in boxes if box)
    assert title_box["y"] < text_box["y"] < 300
    assert fields_box["x"] > text_box["x"] + text_box["width"]
    height = title_box["height"]
    title.fill("A title of so many words that it needs a second line on every screen of this width")
    assert (title.bounding_box() or title_box)["height"] > height
    title.press("Enter")
    expect(text).to_be_focused()
    console.resize(NARROW, "dark")
    expect(fields).to_be_hidden()
    page.get_by_role("button", name="Fields", exact=True).click()
    expect(fields).to_be_visible()
    expect(text).to_be_hidden()
    assert page.evaluate(FINDINGS) == []
    page.get_by_role("button", name="History", exact=True).click()
    expect(page.get_by_role("link", name="All versions")).to_be_visible()
    page.get_by_role("button", name="Text", exact=True).click()
    expect(text).to_be_visible()


@pytest.mark.server
def test_toolbar_is_one_stop_and_a_page_is_saved_only_with_a_change(console: Console, project: str) -> None:
    page = console.page
    console.resize({"width": 720, "height": 900}, "light")
    console.open(f"{project}/edit/content/posts/reading-the-tide-table.md", ".ProseMirror")
    save, bar = page.get_by_role("button", name="Save", exact=True), page.get_by_role("toolbar", name="Formatting")
    expect(save).to_have_attribute("aria-disabled", "true")
    assert bar.evaluate("bar => bar.scrollWidth === bar.clientWidth")
    expect(bar.locator(":is(button, select):enabled:not([tabindex='-1'])")).to_have_count(1)
    bar.get_by_label("Style").focus()
    for key, name in (("ArrowRight", "Bold"), ("End", "Image"), ("ArrowRight", "Style")):
        page.keyboard.press(key)
        expect(bar.get_by_label(name)).to_be_focused()
    page.locator(".ProseMirror").press("x")
    expect(save).to_have_attribute("aria-disabled", "false")
    page.locator(".ProseMirror").press("Control+z")
    expect(save).to_have_attribute("aria-disabled", "true")


@pytest.mark.server
def test_first_entry_of_a_list_is_reached_with_few_keys(console: Console, project: str) -> None:
    page = console.page
    console.open(f"{project}/collections/content-posts", "#rows")
    for key in ("Tab", "Enter", "Tab", "Enter", "Tab", "Tab"):
        page.keyboard.press(key)
    expect(page.locator("#rows a").first).to_be_focused()


@pytest.mark.server
def test_help_opens_with_a_key_outside_of_fields_and_leads_to_the_pages(console: Console, project: str) -> None:
    page = console.page
    console.resize(WIDE, "light")
    console.open(project)
    page.locator("#sidebar-search").press("?")
    expect(page.get_by_role("dialog")).to_have_count(0)
    page.keyboard.press("Escape")
    page.locator("#main").focus()
    page.keyboard.press("?")
    dialog = page.get_by_role("dialog", name="Help")
    expect(dialog.get_by_text("Search and commands")).to_be_visible()
    page.keyboard.press("Escape")
    page.get_by_role("link", name="Help").press("Enter")
    dialog.get_by_role("link", name="History").click()
    page.wait_for_url(f"**{project}/history")


@pytest.mark.server
def test_new_entry_is_made_in_a_dialog_and_committed_by_its_first_save(console: Console, project: str) -> None:
    page = console.page
    console.resize(WIDE, "light")
    console.open(f"{project}/content/content/posts")
    page.locator("[data-new-entry]").first.click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_role("button", name="Create").click()
    expect(dialog.get_by_text("Enter a title or an address.")).to_be_visible()
    dialog.get_by_label("Title").fill("High water")
    expect(dialog.get_by_label("Address")).to_have_attribute("placeholder", "high-water")
    for size in (WIDE, NARROW):
        console.resize(size, "dark")
        assert page.evaluate(FINDINGS) == []
    [path] = (console.service.home / "instance").rglob("harbour-journal.git")
    repo, entry = GitRepo.existing(path), "content/posts/high-water.md"
    head = repo.head()
    dialog.get_by_role("button", name="Create").click()
    page.wait_for_url(f"**/edit/{entry}")
    page.locator(".ProseMirror").click()
    page.keyboard.type("The moon is full.")
    assert repo.head() == head
    page.keyboard.press("Control+s")
    expect(page.locator(".toast", has_text="Saved")).to_be_visible()
    assert repo.show(entry).endswith(b"The moon is full.\n")
    expect(page.get_by_text("This page is not part of the site yet.")).to_be_hidden()
    page.keyboard.type(" Bring boots.")
    with page.expect_response(f"**/edit/{entry}?mode=rich&done=saved&since=**"):
        page.keyboard.press("Control+s")
    console.open(f"{project}/edit/{entry}", ".ProseMirror")
    expect(page.locator(".ProseMirror")).to_contain_text("The moon is full. Bring boots.")


LISTS = """---
title: Lists
date: 2026-05-27T10:30:00+02:00
tags: [one, two, three]
links:
  - name: First
    url: /a
  - name: Second
    url: /b
---
Text.
"""


@pytest.mark.server
def test_entries_of_a_long_list_are_loaded_when_they_are_opened(console: Console, project: str) -> None:
    page = console.page
    [path] = (console.service.home / "instance").rglob("harbour-journal.git")
    repo, file = GitRepo.existing(path), "data/vendors.yaml"
    repo.commit({file: "".join(f"- name: 'Vendor {at}'\n  home: /{at}\n" for at in range(600)).encode()})
    console.resize({"width": 1440, "height": 900}, "light")
    console.open(f"{project}/edit/{file}", "details[data-closed]")
    page.evaluate("window.isSamePage = true")
    expect(page.locator("[data-closed]")).to_have_count(600)
    card = page.locator("details[data-item='300'] > summary")
    card.press("Enter")
    name = page.locator("[name='fm.items/300/name']")
    name.fill("Changed")
    expect(page.locator("details[data-item='301'] > summary")).to_contain_text("Vendor 301")
    page.locator("details[data-item='301'] > summary").press("Enter")
    expect(page.locator("[name='fm.items/301/name']")).to_have_value("Vendor 301")
    expect(name).to_have_value("Changed")
    card.press("Alt+ArrowUp")
    expect(page.locator("details[data-item]").nth(299)).to_have_attribute("data-item", "300")
    page.keyboard.press("Control+s")
    expect(page.locator(".toast", has_text="Saved")).to_be_visible()
    assert page.evaluate("window.isSamePage")
    names = [line for line in repo.show(file).decode().splitlines() if "name" in line]
    assert names[298:302] == [
        "- name: 'Vendor 298'",
        "- name: 'Changed'",
        "- name: 'Vendor 299'",
        "- name: 'Vendor 301'",
    ]


@pytest.mark.server
def test_lists_and_dates_are_changed_by_keys_without_loading_the_page(console: Console, project: str) -> None:
    page = console.page
    [path] = (console.service.home / "instance").rglob("harbour-journal.git")
    repo, file = GitRepo.existing(path), "content/lists/lists.md"
    repo.commit({file: LISTS.encode()})
    console.resize({"width": 1440, "height": 900}, "light")
    console.open(f"{project}/edit/{file}", ".ProseMirror")
    page.evaluate("window.isSamePage = true")
    page.locator(".chip__text", has_text="three").focus()
    page.keyboard.press("Alt+ArrowLeft")
    expect(page.locator(".chip__text", has_text="three")).to_be_focused()
    page.keyboard.press("Alt+ArrowUp")
    page.locator(".chip__text", has_text="two").press("Delete")
    entry = page.get_by_label("Tags", exact=True)
    entry.fill("a, b")
    entry.press("Enter")
    entry.press_sequentially("typed")
    expect(page.locator("textarea[name='fm.tags']")).to_have_value("three\none\na\nb\ntyped")
    second = page.locator("details[data-item='1'] > summary")
    expect(second).to_contain_text("Second")
    second.press("Alt+ArrowUp")
    expect(page.locator("details[data-item]").first).to_have_attribute("data-item", "1")
    expect(second).to_be_focused()
    page.get_by_role("button", name="Add an entry: Links").click()
    added = page.locator("[name='fm.links/n0/name']")
    expect(added).to_be_focused()
    added.fill("Third")
    page.get_by_role("button", name="Remove: Links 2").click()
    expect(page.locator("details[data-item='0']")).to_have_count(0)
    page.get_by_role("button", name="Undo", exact=True).last.click()
    expect(page.locator("details[data-item='0'] > summary")).to_be_focused()
    expect(page.locator("details[data-item]").nth(1)).to_have_attribute("data-item", "0")
    page.get_by_role("button", name="Remove: Links 2").click()
    expect(page.locator("details[data-item='0']")).to_have_count(0)
    page.get_by_role("button", name="Now: Date").click()
    for size in (WIDE, NARROW):
        console.resize(size, "dark")
        assert page.evaluate(FINDINGS) == []
    assert page.evaluate("window.isSamePage")
    page.keyboard.press("Control+s")
    expect(page.locator(".toast", has_text="Saved")).to_be_visible()
    lines = repo.show(file).decode().splitlines()
    assert re.fullmatch(r"date: 20\d\d-\d\d-\d\dT\d\d:\d\d:00\+02:00", lines[2])
    assert [line for line in lines if "name:" in line] == ["  - name: Second", "  - name: Third"]
    assert lines[3:4] == ["tags: [three, one, a, b, typed]"]
    expect(page.locator("input[name='items.links']")).to_have_value("0,1")
    assert page.evaluate("window.isSamePage")
    expect(page.locator("details[data-item='1'] > summary")).to_contain_text("Third")
    console.resize(WIDE, "light")
    page.locator("details[data-item='1'] > summary").press("Alt+ArrowUp")
    expect(page.locator("details[data-item] > summary").first).to_contain_text("Third")
    page.get_by_text("Add a field", exact=True).click()
    page.get_by_label("Name of the field").fill("level")
    page.locator("[name='new.value']").fill("beginner")
    page.keyboard.press("Control+s")
    expect(page.get_by_label("Level", exact=True)).to_have_value("beginner")
    lines = repo.show(file).decode().splitlines()
    assert [line for line in lines if "name:" in line] == ["  - name: Third", "  - name: Second"]
    assert "level: beginner" in lines


RELATED_SCHEMA = """
collections:
  - name: posts
    folder: content/posts
    fields:
      - {name: title, type: string}
      - {name: author, type: relation, collection: people}
      - {name: others, type: relation, collection: people, multiple: true}
  - {name: people, folder: content/people, fields: [{name: title, type: string}]}
"""
RELATED = """---
title: Related
author: p3
others: [p1, nobody]
---
See [the first]({{< ref "/people/p1.md" >}}) and [none]({{< ref "/people/none.md" >}}).
"""


@pytest.mark.server
def test_entries_of_a_data_file_are_collapsed_copied_and_inserted(console: Console, project: str) -> None:
    page = console.page
    [path] = (console.service.home / "instance").rglob("harbour-journal.git")
    repo, file = GitRepo.existing(path), "data/menu.json"
    entry = '    {"name": "Tides", "links": [{"url": "/t"}]}'
    repo.commit({file: f'{{\n  "about": {{"mail": "a@b.example"}},\n  "menu": [\n{entry}\n  ]\n}}\n'.encode()})
    console.resize(NARROW, "dark")
    console.open(f"{project}/edit/{file}", "[data-fold]:not([hidden])")
    for width in (NARROW, WIDE):
        console.resize(width, "dark")
        page.get_by_role("button", name="Collapse all").first.click()
        expect(page.locator("details.group[open]")).to_have_count(0)
        assert page.evaluate(FINDINGS) == []
        page.get_by_role("button", name="Expand all").first.click()
        expect(page.locator("details.group:not([open])")).to_have_count(0)
    page.get_by_role("button", name="Duplicate: Menu 1").click()
    expect(page.locator("[name='fm.menu/n0-0/name']")).to_be_focused()
    page.keyboard.press("End")
    page.keyboard.type(" today")
    page.get_by_role("button", name="Insert above: Menu 2").click()
    expect(page.locator("[name='fm.menu/n1/name']")).to_be_focused()
    page.keyboard.type("Berths")
    page.keyboard.press("Control+s")
    expect(page.locator(".toast", has_text="Saved")).to_be_visible()
    text = repo.show(file).decode()
    assert text.startswith(f'{{\n  "about": {{"mail": "a@b.example"}},\n  "menu": [\n{entry},\n')
    assert json.loads(text)["menu"][1:] == [{"name": "Berths"}, {"name": "Tides today", "links": [{"url": "/t"}]}]


@pytest.mark.server
def test_related_entries_and_linked_pages_are_found_by_title(console: Console, project: str, tmp_path: Path) -> None:
    page, file = console.page, "content/posts/related.md"
    files = {".galley.yml": RELATED_SCHEMA, "hugo.toml": 'title = "Related"\n', file: RELATED}
    files |= {f"content/people/p{n}.md": f"---\ntitle: Person number {n}\n---\n" for n in range(20)}
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    related = f"/console/projects/{Member(console.service).connect(tmp_path, 'related')}"
    console.resize({"width": 1440, "height": 900}, "light")
    author, others = page.get_by_label("Author", exact=True), page.get_by_label("Others", exact=True)
    for _ in range(100):
        console.open(f"{related}/edit/{file}", ".ProseMirror")
        if author.count() and author.input_value() == "Person number 3":
            break
        page.wait_for_timeout(300)
    expect(page.locator(".chip")).to_contain_text(["Person number 1", "nobody"])
    expect(page.get_by_text("No entry has this value: nobody")).to_be_visible()
    author.fill("17")
    expect(page.locator(".choice-list__item")).to_have_count(1)
    author.press("Enter")
    expect(author).to_have_value("Person number 17")
    others.fill("person 12")
    expect(page.locator(".choice-list__item:visible")).to_have_count(1)
    others.press("Enter")
    page.locator(".chip__text", has_text="Person number 12").press("Alt+ArrowLeft")
    expect(page.get_by_text("1 link leads to a page that does not exist")).to_be_visible()
    page.locator(".ProseMirror a", has_text="none").click()
    page.keyboard.press("Control+k")
    dialog = page.get_by_role("dialog", name="Link")
    dialog.get_by_label("Page of this site").fill("number 19")
    expect(dialog.get_by_role("option")).to_have_count(1)
    for size in (WIDE, NARROW):
        console.resize(size, "dark")
        assert page.evaluate(FINDINGS) == []
    dialog.get_by_role("button", name="Cancel").click(delay=200)
    expect(dialog).to_be_hidden()
    page.keyboard.press("Control+k")
    dialog.get_by_label("Page of this site").fill("number 19")
    expect(dialog.get_by_role("option")).to_have_count(1)
    dialog.get_by_label("Address", exact=True).focus()  # closes the list
    dialog.get_by_label("Page of this site").press("Enter")
    expect(dialog.get_by_role("option")).to_have_count(1)
    dialog.get_by_label("Page of this site").press("Enter")
    expect(dialog.get_by_label("Address", exact=True)).to_have_value('{{< ref "/people/p19.md" >}}')
    dialog.get_by_label("Text", exact=True).fill("the last")
    refused = list[str]()

    def refuse(route: Route) -> None:
        refused.append(route.request.url)
        route.fulfill(status=429, headers={"Retry-After": "1"})

    page.route("**/check-links/**", refuse, times=1)
    page.keyboard.press("Control+s")
    expect(dialog).to_be_hidden()
    expect(page.get_by_text("leads to a page that does not exist")).to_be_hidden(timeout=ANSWER_MS)
    assert len(refused) == 1
    expect(page.locator(".toast")).to_have_count(0)
    page.keyboard.press("Control+s")
    expect(page.locator(".toast", has_text="Saved")).to_be_visible()
    [path] = (console.service.home / "instance").rglob("related.git")
    expected = RELATED.replace("p3", "p17").replace("[p1, nobody]", "[p1, p12, nobody]")
    expected = expected.replace('[none]({{< ref "/people/none.md" >}})', '[the last]({{< ref "/people/p19.md" >}})')
    assert GitRepo.existing(path).show(file).decode() == expected


@pytest.mark.server
def test_filter_of_a_list_stays_in_the_other_view_and_ticked_entries_are_changed(
    console: Console, project: str
) -> None:
    page = console.page
    console.resize(WIDE, "light")
    console.open(f"{project}/collections/content-posts")
    rows = page.locator("#rows tr")
    count = rows.count()
    page.get_by_label("Filter", exact=True).fill("fog")
    expect(rows).to_have_count(1)
    page.get_by_label("State").select_option("published")
    page.wait_for_url("**state=published**")
    assert page.evaluate("problems") == []
    page.get_by_role("link", name="Grid").click()
    page.wait_for_url("**view=grid**")
    expect(page.locator("#rows .card__title")).to_have_count(1)
    expect(page.get_by_label("State")).to_have_value("published")
    console.open(f"{project}/collections/content-posts?view=list&state=all&filter=")
    for box in (ticks := page.locator("#rows .table__select")).all()[:2]:
        box.check()
    with page.expect_request("**/collections/**") as sent:
        page.get_by_role("button", name="Mark as drafts").click()
    assert "select%5B%5D=" in (sent.value.post_data or "")
    expect(ticks).to_have_count(count)
    expect(page.get_by_role("row").filter(has_text="draft")).to_have_count(2)
    assert page.evaluate(FINDINGS) == []


def stop_preview(console: Console, project: str) -> None:
    """Stop the preview of the project, if it runs."""
    console.open(f"{project}/preview", "main")
    if (stop := console.page.get_by_role("button", name="Stop", exact=True)).is_visible():
        stop.click()
        console.page.wait_for_url("**done=stopped")


@pytest.mark.server
class TestPreviewPanel:
    def test_preview_follows_the_typed_text_and_is_a_tab_on_a_narrow_screen(
        self, console: Console, project: str
    ) -> None:
        page = console.page
        console.resize(WIDE, "light")
        console.open(f"{project}/edit/{FILE}", ".ProseMirror")
        toggle_preview(page)
        expect(frame_of(page).locator("h1", has_text="Fog signals")).to_be_visible(timeout=START_MS)
        page.locator(".ProseMirror > p").last.click()
        page.keyboard.press("End")
        page.keyboard.type(" Bring a bell.")
        expect(frame_of(page).get_by_text("Bring a bell.")).to_be_visible(timeout=START_MS)
        expect(page.get_by_text("The preview shows your unsaved text.")).to_be_visible()
        for size in (WIDE, NARROW):
            console.resize(size, "dark")
            assert page.evaluate(FINDINGS) == []
        expect(page.locator(".ProseMirror")).to_be_hidden()
        page.get_by_role("button", name="Text", exact=True).click()
        expect(page.locator(".ProseMirror")).to_be_visible()
        expect(page.locator("iframe[data-preview-frame]")).to_be_hidden()
        assert "panel=" not in page.url

    def test_page_without_a_generator_is_loaded_again_after_an_edit(
        self, console: Console, project: str, tmp_path: Path
    ) -> None:
        page = console.page
        (tmp_path / "index.html").write_text("<h1>Made by hand</h1>\n")
        plain = f"/console/projects/{Member(console.service).connect(tmp_path, 'plain')}"
        console.resize(WIDE, "light")
        console.open(f"{plain}/edit/index.html?panel=preview", ".cm-content")
        expect(frame_of(page).get_by_text("Made by hand")).to_be_visible(timeout=START_MS)
        page.locator(".cm-content").click()
        page.keyboard.press("Control+Home")
        page.keyboard.type("Unsaved")
        expect(frame_of(page).get_by_text("Unsaved")).to_be_visible(timeout=START_MS)
        page.keyboard.press("Control+z")
        expect(frame_of(page).get_by_text("Unsaved")).to_be_hidden(timeout=START_MS)

    def test_refused_start_shows_the_reason_and_the_page_without_its_site(self, console: Console, project: str) -> None:
        page, refused = console.page, {"message": "You have 2 previews running; stop one first"}
        stop_preview(console, project)
        page.route("**/api/sandbox/create", lambda route: route.fulfill(status=429, json=refused))
        console.open(f"{project}/edit/content/about.md?panel=preview", ".ProseMirror")
        simple = page.locator("[data-preview-simple]")
        expect(simple.get_by_role("heading", name="About", exact=True)).to_be_visible()
        expect(page.locator("[data-preview-status]")).to_have_text(refused["message"])
        expect(page.get_by_text("The real preview is not set up.")).to_be_hidden()
        page.unroute("**/api/sandbox/create")

    def test_page_is_shown_without_its_site_during_the_start(self, console: Console, project: str) -> None:
        page, held = console.page, list[Route]()
        stop_preview(console, project)
        page.route("**/api/sandbox/create", lambda route: held.append(route))
        console.open(f"{project}/edit/content/about.md?panel=preview", ".ProseMirror")
        simple = page.locator("[data-preview-simple]")
        expect(simple.get_by_role("heading", name="About", exact=True)).to_be_visible()
        page.locator(".ProseMirror > p").last.click()
        page.keyboard.type(" Bring a torch.")
        expect(simple.get_by_text("Bring a torch.")).to_be_visible(timeout=START_MS)
        expect(page.get_by_text("The real preview is not set up.")).to_be_hidden()
        assert page.evaluate(FINDINGS) == []
        held[0].continue_()
        page.unroute("**/api/sandbox/create")
        expect(frame_of(page).get_by_text("Bring a torch.")).to_be_visible(timeout=START_MS)
        expect(simple).to_be_hidden()

    def test_failed_start_shows_the_log_and_can_be_repeated(self, console: Console, project: str) -> None:
        page = console.page
        console.resize(WIDE, "light")
        [path] = (console.service.home / "instance").rglob("harbour-journal.git")
        repo = GitRepo.existing(path)
        command = b"sh -c 'echo no boat, getaddrinfo ENOTFOUND boats.example.org; exit 3'"
        repo.commit({".galley.yml": b"preview:\n  command: %b\n  port: 4000\n" % command})
        stop_preview(console, project)
        console.open(f"{project}/edit/{FILE}?panel=preview", ".ProseMirror")
        expect(page.locator("[data-preview-log]")).to_contain_text("no boat", timeout=START_MS)
        expect(page.locator("[data-preview-hint]")).to_contain_text("The site requested boats.example.org")
        expect(page.locator("[data-preview-hint]")).not_to_contain_text("preview_network")
        expect(page.get_by_role("link", name="Previews may connect to the Internet")).to_be_visible()
        simple = page.locator("[data-preview-simple]")
        expect(simple.get_by_role("heading", name="Fog signals")).to_be_visible()
        page.locator(".ProseMirror > p").last.click()
        page.keyboard.type(" Bring a torch.")
        expect(simple.get_by_text("Bring a torch.")).to_be_visible(timeout=START_MS)
        for size in (WIDE, NARROW):
            console.resize(size, "dark")
            assert page.evaluate(FINDINGS) == []
        console.resize(WIDE, "light")
        repo.commit({".galley.yml": b"# nothing\n"})
        page.get_by_role("button", name="Start the preview").click()
        expect(frame_of(page).locator("h1", has_text="Fog signals")).to_be_visible(timeout=START_MS)
        assert page.evaluate(FINDINGS) == []


@pytest.mark.server
def test_uploaded_image_is_inserted_with_its_description(console: Console, project: str) -> None:
    page = console.page
    console.resize(WIDE, "light")
    console.open(f"{project}/edit/content/about.md", ".ProseMirror")
    page.locator(".ProseMirror > p").last.click()
    page.keyboard.press("End")
    page.get_by_role("button", name="Image", exact=True).click()
    dialog = page.get_by_role("dialog", name="Insert an image")
    chosen = dialog.get_by_label("Upload a new image")
    chosen.set_input_files({"name": "notes.txt", "mimeType": "text/plain", "buffer": b"notes"})
    expect(dialog.get_by_text("The image was not uploaded. This is not an image.")).to_be_visible()
    chosen.set_input_files({"name": "low-tide.png", "mimeType": "image/png", "buffer": PNG})
    description = dialog.get_by_label("Description")
    expect(description).to_have_value("low tide")
    description.fill("The pier at low tide")
    assert page.evaluate(FINDINGS) == []
    dialog.get_by_role("button", name="Insert", exact=True).click()
    page.locator(".ProseMirror img[alt]").first.dblclick()
    description = page.get_by_role("dialog", name="Describe the image").get_by_label("Description")
    description.fill("The pier")
    page.keyboard.press("Control+s")
    expect(description).to_be_hidden()
    expect(page.locator("textarea[name=body]")).to_have_value(re.compile(r"!\[The pier\]\(/low-tide\.png\)"))
    expect(page.locator(".toast")).to_have_count(0)
    page.keyboard.press("Control+s")
    expect(page.locator(".toast", has_text="Saved")).to_be_visible()
    [path] = (console.service.home / "instance").rglob("harbour-journal.git")
    assert b"![The pier](/low-tide.png)" in GitRepo.existing(path).show("content/about.md")


@pytest.mark.server
def test_palette_opens_a_file_by_a_word_of_its_text(console: Console, project: str) -> None:
    page = console.page
    console.resize(WIDE, "light")
    console.open(project)
    page.keyboard.press("Control+k")
    page.get_by_role("combobox", name="Search and commands").fill("knots")
    expect(page.get_by_role("option").filter(has_text="Four knots")).to_be_visible()
    assert page.evaluate(FINDINGS) == []
    page.get_by_role("option").filter(has_text="Four knots").click()
    page.wait_for_url("**/edit/content/docs/knots.md")


KINDS = """collections:
  - name: kinds
    folder: content/kinds
    fields:
      - {name: title, type: string}
      - {name: draft, type: boolean, hint: A sentence about drafts.}
      - {name: summary, type: text, maximum: 10}
      - name: blocks
        type: list
        item:
          type: object
          variant_key: type
          variants:
            - {name: hero, type: object, label: Large title, fields: [{name: text, type: string}]}
            - {name: quote, type: object, fields: [{name: text, type: string, required: true}]}
"""
PAGE_OF_KINDS = """---
title: Kinds
draft: true
blocks:
  - type: hero
    text: First
  - type: map # kept
    zoom: 3
---
Text.
"""


@pytest.mark.server
def test_kinds_counters_and_the_draft_state_follow_the_input_without_loading_the_page(
    console: Console, project: str
) -> None:
    page = console.page
    [path] = (console.service.home / "instance").rglob("harbour-journal.git")
    repo, file = GitRepo.existing(path), "content/kinds/kinds.md"
    repo.commit({file: PAGE_OF_KINDS.encode(), ".galley.yml": KINDS.encode()})
    console.open(f"{project}/collections")  # the service notices the new head
    add = page.get_by_role("button", name="Add Quote: Blocks")
    console.resize(WIDE, "light")
    console.open(f"{project}/edit/{file}", ".ProseMirror")
    for _ in range(START_MS // 500):
        if add.count():
            break
        page.wait_for_timeout(500)
        console.open(f"{project}/edit/{file}", ".ProseMirror")
    page.evaluate("window.isSamePage = true")
    add.click()
    added = page.locator("[name='fm.blocks/n0/text']")
    expect(added).to_be_focused()
    added.fill("Sail")
    summary = page.locator("details[data-item='n0'] > summary")
    summary.press("Alt+ArrowUp")
    expect(page.locator("details[data-item]").nth(1)).to_have_attribute("data-item", "n0")
    expect(summary).to_be_focused()
    state = page.locator(".draft-state")
    expect(state).to_have_text(re.compile("^Draft: visitors do not see the page"), use_inner_text=True)
    page.get_by_role("switch", name="Draft").press("Space")
    expect(state).to_have_text("Published: visitors see the page", use_inner_text=True)
    text, help_text = page.locator("[name='fm.summary']"), page.locator("[id='fm.summary-help']")
    text.fill("Eleven char")
    expect(help_text).to_have_text("11 of 10 characters")
    expect(help_text).to_have_attribute("data-over", "")
    text.fill("Short")
    expect(help_text).to_have_text("5 of 10 characters")
    for size in (WIDE, NARROW):
        console.resize(size, "dark")
        assert page.evaluate(FINDINGS) == []
    assert page.evaluate("window.isSamePage")
    page.keyboard.press("Control+s")
    expect(page.locator(".toast", has_text="Saved")).to_be_visible()
    changed = [line for line in repo.text("diff", "HEAD~1", "HEAD").splitlines() if re.match(r"[+-][^+-]", line)]
    assert changed == ["-draft: true", "+draft: false", "+  - type: quote", "+    text: Sail", "+summary: Short"]


PICTURES = b"""collections:
  - name: pictures
    label: Pictures
    folder: content/pictures
    media_folder: static/pictures
    public_folder: /pictures
    fields:
      - {name: title, type: string}
      - {name: cover, type: image, label: Cover}
      - {name: cover_alt, type: string, label: Cover text}
      - {name: gallery, type: list, label: Gallery, item: {type: image}}
"""
GIVE_IMAGE = """([selector, kind, name, base64]) => {
  const bytes = Uint8Array.from(atob(base64), (each) => each.charCodeAt(0));
  const data = new DataTransfer();
  data.items.add(new File([bytes], name, {type: "image/png"}));
  const target = document.querySelector(selector);
  const { left, top } = target.getBoundingClientRect();
  const init = {bubbles: true, cancelable: true, clientX: left + 5, clientY: top + 5};
  target.dispatchEvent(kind === "paste" ? new ClipboardEvent(kind, {...init, clipboardData: data}) : new DragEvent(kind, {...init, dataTransfer: data}));
}"""


def give_image(page: Page, selector: str, kind: str, name: str) -> None:
    """Drop or paste an image at an element, as a user does with a file."""
    page.evaluate(GIVE_IMAGE, [selector, kind, name, base64.b64encode(PNG).decode()])


@pytest.mark.server
def test_images_belong_to_the_draft_until_the_save(console: Console, project: str) -> None:
    page, file = console.page, "content/pictures/one.md"
    [path] = (console.service.home / "instance").rglob("harbour-journal.git")
    repo = GitRepo.existing(path)
    head = repo.commit({".galley.yml": PICTURES, file: b"---\ntitle: One\n---\nText.\n"})
    console.resize(WIDE, "light")
    console.open(f"{project}/edit/{file}", ".ProseMirror")
    for _ in range(100):
        if page.locator("[data-image-field=cover]").count():  # The schema is indexed.
            break
        page.wait_for_timeout(500)
        console.open(f"{project}/edit/{file}", ".ProseMirror")
    cover, gallery = page.locator("[data-image-field=cover]"), page.locator("[data-image-field=gallery]")
    give_image(page, "[data-image-field=cover] [data-drop-zone]", "drop", "pier.png")
    picture = cover.locator("img")
    expect(picture).to_be_visible()
    expect(picture).to_have_js_property("naturalWidth", 1)
    give_image(page, "[data-image-field=gallery] button", "paste", "pier.png")
    expect(gallery.get_by_role("img", name="/pictures/pier-2.png")).to_be_visible()
    give_image(page, ".ProseMirror > p", "paste", "tide.png")
    page.get_by_role("dialog", name="Describe the image").get_by_label("Description").fill("Low tide")
    page.keyboard.press("Enter")
    expect(page.locator(".ProseMirror img[alt='Low tide']")).to_have_js_property("naturalWidth", 1)
    cover.get_by_role("button", name="Remove: Cover").click()
    expect(picture).to_be_hidden()
    cover.get_by_role("button", name="Choose: Cover").click()
    dialog = page.get_by_role("dialog", name="Image")
    dialog.locator("label", has_text="pier.png").click()
    dialog.get_by_label("Description").fill("The pier")
    for size, theme in ((WIDE, "light"), (NARROW, "dark")):
        console.resize(size, "light" if theme == "light" else "dark")
        assert page.evaluate(FINDINGS) == []
    console.resize(WIDE, "light")
    dialog.get_by_role("button", name="Apply").click()
    expect(picture).to_be_visible()
    expect(page.get_by_label("Cover text")).to_have_value("The pier")
    assert page.evaluate(FINDINGS) == []
    assert repo.head() == head
    page.keyboard.press("Control+s")
    expect(page.locator(".toast", has_text="Saved")).to_be_visible()
    names = ("pier.png", "pier-2.png", "tide.png")
    saved = repo.git("show", "--format=", "--name-only", "main").decode().split()
    assert set(saved) == {file, *(f"static/pictures/{name}" for name in names)}
    text = repo.show(file).decode()
    for line in (
        "cover: /pictures/pier.png",
        "cover_alt: The pier",
        "/pictures/pier-2.png",
        "![Low tide](/pictures/tide.png)",
    ):
        assert line in text
    _discard_image(page, repo)
    assert page.evaluate(FINDINGS) == []


def _discard_image(page: Page, repo: GitRepo) -> None:
    """Paste another image, load the page again with its draft, and discard the draft."""
    head = repo.head()
    give_image(page, ".ProseMirror > p", "paste", "gone.png")
    page.get_by_role("dialog", name="Describe the image").get_by_role("button", name="Apply").click()
    expect(page.locator("[data-editor-status]")).to_have_text("Draft stored")
    page.reload()
    expect(page.locator(".ProseMirror img[alt='gone']")).to_have_js_property("naturalWidth", 1)
    page.get_by_role("button", name="Discard the draft").click()
    expect(page.locator(".ProseMirror img[data-source]")).to_have_count(1)
    assert repo.head() == head
