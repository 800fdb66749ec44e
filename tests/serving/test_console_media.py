"""The media library in a browser: the folder of a filter is that of an upload, and selected images are deleted."""

import io
from pathlib import Path

from PIL import Image
from playwright.sync_api import Browser, expect

from tests.serving.test_console_screens import running_console
from tests.serving.test_console_views import connect


def picture(width: int) -> bytes:
    """Return an image whose file is larger for a larger width."""
    data = io.BytesIO()
    Image.effect_noise((width, width), 64).save(data, "PNG")
    return data.getvalue()


def test_folder_of_the_filter_is_that_of_an_upload_and_selected_images_are_deleted(
    browser: Browser, tmp_path: Path
) -> None:
    files = {
        "static/uploads/pier.png": picture(20),
        "static/uploads/boats/boat.png": picture(40),
        "content/posts/fog/index.md": b"---\ntitle: Fog signals\n---\n![A boat](/uploads/boats/boat.png)\n",
        "content/posts/fog/cover.png": picture(60),
    }
    with running_console(browser, tmp_path) as console:
        console.sign_in()
        base, repo = connect(console, files, "harbour", tmp_path / "harbour")
        page, cards = console.page, console.page.locator(".media-card")
        while cards.count() < 3 or not page.get_by_text("0 pages").count():
            console.open(f"{base}/media")
        page.locator("#sort").select_option("-size")
        page.wait_for_url("**sort=-size**")
        page.locator("#shown-folder").select_option(label="Static / Uploads (2)")
        page.wait_for_url("**folder=static%2Fuploads**")
        expect(cards.locator(".card__title")).to_have_text(["boat.png", "pier.png"])
        expect(page.locator("#folder")).to_have_value("static/uploads")
        page.locator("#file").set_input_files({"name": "new.png", "mimeType": "image/png", "buffer": picture(10)})
        page.get_by_role("button", name="Upload").click()
        page.wait_for_url("**done=uploaded**")
        assert "static/uploads/new.png" in repo.entries()
        while not page.get_by_text("0 pages").count():
            console.open(f"{base}/media?folder=static/uploads")
        for name in ("boat.png", "new.png"):
            page.get_by_label(f"Select {name}").check()
        expect(page.locator("[data-selected-count]")).to_have_text("2 selected")
        page.get_by_role("button", name="Delete selected").click()
        expect(page.get_by_role("heading", name="Delete 2 images?")).to_be_visible()
        expect(page.locator(".banner li")).to_have_text(["boat.png: Fog signals"])
        assert console.problems() == {}
        page.get_by_role("button", name="Delete selected").click()
        page.wait_for_url("**done=deleted**")
        expect(cards.locator(".card__title")).to_have_text(["pier.png"])
        assert {"static/uploads/boats/boat.png", "static/uploads/new.png"}.isdisjoint(repo.entries())
