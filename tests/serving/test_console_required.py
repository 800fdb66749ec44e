"""Required fields of a new page in Chromium: the first one without a value receives the focus."""

from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from tests.serving.member import Member
from tests.serving.test_console_screens import running_console

CONFIGURATION = """backend: {name: git-gateway}
collections:
  - name: posts
    folder: content/posts
    create: true
    fields:
      - {name: title, widget: string}
      - {name: tags, widget: list}
      - {name: kind, widget: string}
      - {name: body, widget: markdown}
"""


@pytest.mark.server
def test_first_required_field_without_a_value_receives_the_focus(browser: Browser, tmp_path: Path) -> None:
    files = {"site/static/admin/config.yml": CONFIGURATION, "site/content/posts/a.md": "---\ntitle: A\n---\n\nText\n"}
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    home = tmp_path / "home"
    home.mkdir()
    with running_console(browser, home) as console:
        page, start = console.page, console.sign_in()
        member = Member(console.service)
        project = f"{start.rpartition('/')[0]}/{member.connect(tmp_path / 'site', 'required')}"
        for _ in range(100):
            console.open(f"{project}/new/posts?folder=content/posts")
            if page.get_by_label("Collection").count() == 0 and page.get_by_label("Title").count():
                break
            page.wait_for_timeout(300)
        page.get_by_label("Title").fill("Fog")
        page.get_by_role("button", name="Create").click()
        page.wait_for_url("**/edit/content/posts/fog.md")
        url = page.url
        page.locator(".ProseMirror").wait_for()
        page.keyboard.press("Control+s")
        expect(page.locator("#body-error")).to_be_visible()
        expect(page.locator(".ProseMirror")).to_be_focused()
        page.keyboard.type("Text.")
        page.keyboard.press("Control+s")
        expect(page.locator("#body-error")).to_have_count(0)
        expect(page.get_by_role("alert")).to_contain_text("Tags")
        expect(page.locator(".field", has=page.locator('[id="fm.tags"]')).locator("input:visible")).to_be_focused()
        page.keyboard.type("sea,")
        page.locator('[id="fm.kind"]').fill("note")
        page.keyboard.press("Control+s")
        expect(page.locator(".toast", has_text="Saved")).to_be_visible()
        assert page.url.partition("?")[0] == url
