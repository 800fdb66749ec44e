"""The editor in Chromium: a preview that follows the typed text, the log of a failed start, and images with descriptions."""

import re
from pathlib import Path

import pytest
from playwright.sync_api import FrameLocator, Page, ViewportSize, expect

from tests.serving.member import Member
from tests.serving.test_console_screens import FINDINGS, PNG, Console, console
from tests.support.samples.gitrepo import GitRepo

__all__ = ["console"]

WIDE: ViewportSize = {"width": 1280, "height": 900}
NARROW: ViewportSize = {"width": 390, "height": 844}
FILE = "content/posts/fog-signals.md"
START_MS = 60_000


@pytest.fixture(scope="module")
def project(console: Console) -> str:
    """The path of the demo project for the signed-in user."""
    return console.sign_in()


def toggle_preview(page: Page) -> None:
    """Press the link of the header that shows the preview."""
    page.locator(".content-header a[data-panel-toggle=preview]").click()


def frame_of(page: Page) -> FrameLocator:
    """Return the preview in the panel."""
    return page.frame_locator("iframe[data-preview-frame]")


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
        page.get_by_role("link", name="Edit", exact=True).click()
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

    def test_failed_start_shows_the_log_and_can_be_repeated(self, console: Console, project: str) -> None:
        page = console.page
        console.resize(WIDE, "light")
        [path] = (console.service.home / "instance").rglob("harbour-journal.git")
        repo = GitRepo.existing(path)
        repo.commit({".galley.yml": b"preview:\n  command: sh -c 'echo no boat; exit 3'\n  port: 4000\n"})
        console.open(f"{project}/preview", "main")
        page.get_by_role("button", name="Stop", exact=True).click()
        page.wait_for_url("**done=stopped")
        console.open(f"{project}/edit/{FILE}?panel=preview", ".ProseMirror")
        expect(page.locator("[data-preview-log]")).to_contain_text("no boat", timeout=START_MS)
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
    page.get_by_role("dialog", name="Describe the image").get_by_label("Description").fill("The pier")
    page.keyboard.press("Enter")
    expect(page.locator("textarea[name=body]")).to_have_value(re.compile(r"!\[The pier\]\(/low-tide\.png\)"))
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
    expect(page.get_by_role("option").filter(has_text="content/docs/knots.md")).to_be_visible()
    assert page.evaluate(FINDINGS) == []
    page.get_by_role("option").filter(has_text="content/docs/knots.md").click()
    page.wait_for_url("**/edit/content/docs/knots.md")
