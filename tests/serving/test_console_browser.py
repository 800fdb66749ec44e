"""The console in Chromium: a new user edits a page, resolves a conflict and restores a version."""

import re
import time
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.serving.browser import chromium
from tests.serving.processes import Service, running
from tests.support.assertions.mailbox import Mailbox
from tests.support.samples.gitrepo import GitRepo

PASSWORD = "Quiet-Harbour-Boat-7"
START_S = 240
START = (
    "---\ntitle: Tides\ntags: [sea]\n---\n\nFirst paragraph.\n\nSecond  paragraph, with   odd spaces.\n\n* one\n* two\n"
)


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    with running(tmp_path_factory.mktemp("console"), within_s=START_S) as service:
        yield service


@pytest.fixture
def browser() -> Iterator[Browser]:
    with chromium() as browser:
        yield browser


class Visitor:
    """A browser page that records console errors, refused resources and requests to other origins."""

    def __init__(self, browser: Browser, base: str, *, scripts: bool) -> None:
        self.base, self.faults = base, list[str]()
        self.page: Page = browser.new_context(java_script_enabled=scripts).new_page()
        self.page.on("pageerror", lambda error: self.faults.append(f"error: {error}"))
        self.page.on("console", lambda message: self._note(message.type, message.text))
        self.page.on("request", lambda request: self._check(request.url))

    def _note(self, kind: str, text: str) -> None:
        if kind == "error" and "status of 4" not in text:
            self.faults.append(f"console: {text}")

    def _check(self, url: str) -> None:
        if not url.startswith((self.base, "data:", "blob:")):
            self.faults.append(f"request: {url}")

    def go(self, path: str) -> None:
        self.page.goto(self.base + path)

    def press(self, name: str) -> None:
        self.page.get_by_role("button", name=name, exact=True).first.click()

    def fill(self, **fields: str) -> None:
        for label, value in fields.items():
            self.page.get_by_label(label.replace("_", "-"), exact=True).fill(value)


def changed_lines(repo: GitRepo) -> list[str]:
    """Return the lines that the last commit changed."""
    lines = repo.git("log", "-1", "-p", "--format=", "-U0", "main").decode().splitlines()
    return [line for line in lines if line[:1] in "+-" and line[:3] not in ("+++", "---")]


@pytest.mark.server
@pytest.mark.parametrize("scripts", [False, True], ids=["plain forms", "scripts"])
def test_editing_flow_changes_only_the_edited_lines(service: Service, browser: Browser, scripts: bool) -> None:
    visitor = Visitor(browser, service.base, scripts=scripts)
    page = visitor.page
    name = "scripts" if scripts else "plain"
    _sign_up(visitor, service, f"{name}@mail.example.org")
    visitor.fill(Name="Pier")
    visitor.press("Create organization")
    page.get_by_role("link", name="Connect a repository").first.click()
    page.get_by_label("Repository name").fill(f"tides-{name}")
    visitor.press("Create and connect")
    page.wait_for_url("**/projects/**")
    project = re.sub(r"\?.*", "", page.url.removeprefix(service.base))
    repo = GitRepo.existing(next((service.home / "instance").rglob(f"tides-{name}.git")))
    repo.commit({"content/tides.md": START.encode()})

    visitor.go(f"{project}/edit/content/tides.md?mode=source")
    visitor.fill(Title="High tides")
    visitor.press("Save")
    expect(page.get_by_text("Saved", exact=True).first).to_be_visible()
    assert changed_lines(repo) == ["-title: Tides", "+title: High tides"]

    _edit_text(page, "First paragraph.", "My paragraph.", scripts=scripts)
    theirs = repo.show("content/tides.md").replace(b"First paragraph.", b"Their paragraph.")
    repo.commit({"content/tides.md": theirs}, "Change the first paragraph")
    visitor.press("Save")
    page.wait_for_url("**/conflict/**")
    for text in ("First paragraph.", "My paragraph.", "Their paragraph."):
        expect(page.get_by_text(text).first).to_be_visible()
    visitor.press("Save")
    page.wait_for_url("**/edit/**")
    assert changed_lines(repo) == ["-Their paragraph.", "+My paragraph."]

    page.get_by_role("link", name="History").last.click()
    page.get_by_role("row").filter(has_text="Change the first paragraph").get_by_role("button", name="Restore").click()
    page.wait_for_url("**done=restored")
    assert changed_lines(repo) == ["-My paragraph.", "+Their paragraph."]
    assert repo.show("content/tides.md") == theirs
    assert visitor.faults == []


def _sign_up(visitor: Visitor, service: Service, email: str) -> None:
    visitor.go("/console/sign-up")
    visitor.fill(Name="Nell", E_mail=email, Password=PASSWORD)
    visitor.press("Sign up")
    visitor.page.wait_for_url("**/verify?**")
    mailbox, deadline = Mailbox(service.home / "mail", email), time.monotonic() + START_S
    while not mailbox.codes() and time.monotonic() < deadline:
        time.sleep(0.2)
    visitor.fill(Code=mailbox.codes()[-1])
    visitor.press("Confirm")
    visitor.page.wait_for_url("**/console")


def _edit_text(page: Page, old: str, new: str, *, scripts: bool) -> None:
    """Replace a text in the editor of the page: CodeMirror if the page has scripts, else the text area."""
    if scripts and page.locator("script[src]").count():
        page.locator(".cm-content").wait_for()  # The script loads the editor after the page.
        page.locator(".cm-line").filter(has_text=old).click()
        page.keyboard.press("Home")
        page.keyboard.press("Shift+End")
        page.keyboard.type(new)
        return
    area = page.locator("textarea[name=body]")
    area.fill(area.input_value().replace(old, new))
