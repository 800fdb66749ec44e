"""The console in Chromium: accessibility, layout, policy violations, and a save by keyboard."""

import re
import subprocess
import sys
from collections.abc import Iterator
from typing import Literal

import pytest
from playwright.sync_api import Page, ViewportSize, expect

from tests.serving.browser import chromium
from tests.serving.processes import ROOT, Service, running
from tests.support.console_assets import build_assets

Theme = Literal["light", "dark"]
VIEWS: tuple[tuple[ViewportSize, Theme], ...] = (
    ({"width": 1440, "height": 900}, "light"),
    ({"width": 390, "height": 844}, "dark"),
)
PUBLIC = dict.fromkeys(("/console/sign-in", "/console/sign-up", "/console/forgot-password"), "form")
SIGNED_IN = tuple(
    f"/console{path}"
    for path in (
        *("", "/admin/users", "/admin/jobs", "/admin/indexes", "/account", "/account/billing"),
        *("/account/connections", "/account/preferences", "/account/sessions", "/account/tokens"),
    )
)
ORGANIZATION = ("", "/members", "/service-accounts", "/settings", "/connect")
PAGES = {
    **dict.fromkeys(("", "/content/", "/content/content/posts", "/search?q=fog", "/activity"), "main"),
    "/edit/content/posts/fog-signals.md": ".ProseMirror",
    "/edit/content/posts/fog-signals.md?mode=source": ".cm-content",
    "/edit/hugo.toml": ".cm-content",
}
"""Paths below a project, and the selector of an element that appears when the page is ready."""

FILE = "content/posts/fog-signals.md"
HOST = {"GITLAB_URL": "http://127.0.0.1:9", "GITLAB_CLIENT_ID": "console", "GITLAB_CLIENT_SECRET": "secret"}
"""A Git host. The browser answers its requests."""

RECORDER = """
window.problems = [];
addEventListener("securitypolicyviolation", (event) => problems.push(`policy ${event.violatedDirective} ${event.blockedURI}`));
addEventListener("error", (event) => problems.push(`error ${event.message ?? event.target.outerHTML}`), true);
addEventListener("unhandledrejection", (event) => problems.push(`rejection ${event.reason}`));
"""
FINDINGS = """async () => {
  const { violations } = await axe.run();
  const findings = violations.filter(({ impact }) => impact === "serious" || impact === "critical")
    .map(({ id, nodes }) => `${id}: ${nodes[0].html.slice(0, 200)}`);
  const overflow = document.documentElement.scrollWidth > innerWidth ? ["overflow"] : [];
  return [...findings, ...problems, ...overflow];
}"""
"""Findings of axe-core, the recorded problems and a horizontal overflow of the page."""


class Console:
    """A browser that is signed in to the demo."""

    def __init__(self, service: Service, page: Page) -> None:
        self.service, self.page = service, page

    def open(self, path: str, ready: str = "main") -> None:
        """Open a page and wait for its scripts and an element."""
        self.page.goto(self.service.base + path)
        self.page.locator(f"html.has-script {ready}").first.wait_for()

    def sign_in(self) -> str:
        """Sign in and return the path of the demo project."""
        password = (self.service.home / "instance" / "demo_password").read_text().strip()
        self.open("/console/sign-in")
        self.page.get_by_label("E-mail").fill("owner@demo.example.org")
        self.page.get_by_label("Password", exact=True).fill(password)
        self.page.get_by_role("button", name="Sign in", exact=True).click()
        link = self.page.locator("main a[href^='/console/projects/']").first.get_attribute("href")
        assert link is not None
        return "/".join(link.split("/")[:4])

    def resize(self, size: ViewportSize, theme: Theme) -> None:
        """Set the size of the page and the preferred theme."""
        self.page.set_viewport_size(size)
        self.page.emulate_media(color_scheme=theme, reduced_motion="reduce")


@pytest.fixture(scope="module")
def console(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Console]:
    """Run the service with built assets and a browser."""
    axe = build_assets().WORK / "node_modules" / "axe-core" / "axe.min.js"
    with running(tmp_path_factory.mktemp("console"), **HOST) as service, chromium() as browser:
        service.wait_for("job=content.index")
        promote(service)
        page = browser.new_page()
        page.add_init_script(RECORDER)
        page.add_init_script(path=axe)
        yield Console(service, page)


def promote(service: Service) -> None:
    """Make the owner of the demo a platform admin."""
    command = [sys.executable, "-m", "flask", "user", "promote", "owner@demo.example.org"]
    subprocess.run(command, cwd=ROOT, env=service.env, check=True, capture_output=True)


def history(service: Service) -> str:
    """Return the last change of the demo repository as a patch."""
    [repository] = [head.parent for head in (service.home / "instance").rglob("HEAD") if "harbour-journal" in str(head)]
    command = ["git", "-C", str(repository), "log", "-p", "-1", "--format=%s", "main"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


@pytest.mark.server
class TestBrowser:
    def test_screens_have_no_serious_finding_in_both_themes_and_sizes(self, console: Console) -> None:
        findings = {}
        for paths in (PUBLIC, None):
            if paths is None:
                project = console.sign_in()
                link = console.page.locator("main a[href^='/console/organizations/']").first.get_attribute("href")
                paths = dict.fromkeys([*SIGNED_IN, *(f"{link}{path}" for path in ORGANIZATION)], "main")
                paths |= {project + path: ready for path, ready in PAGES.items()}
            for path, ready in paths.items():
                console.open(path, ready)
                for size, theme in VIEWS:
                    console.resize(size, theme)
                    if problems := console.page.evaluate(FINDINGS):
                        findings[path, theme, size["width"]] = problems
        assert findings == {}

    def test_save_by_keyboard_changes_only_the_edited_line(self, console: Console) -> None:
        page = console.page
        console.resize(*VIEWS[0])
        project = console.sign_in()
        console.open(f"{project}/edit/{FILE}", ".ProseMirror")
        page.locator(".ProseMirror > p").last.click()
        page.keyboard.press("End")
        page.keyboard.type(" Bring a chart.")
        page.keyboard.press("Control+s")
        expect(page.locator(".toast")).to_be_visible()
        expect(page.locator(".ProseMirror")).to_be_focused()
        assert page.evaluate("problems") == []
        lines = [line for line in history(console.service).splitlines() if re.match(r"[+-](?![+-])", line)]
        assert [line[0] for line in lines] == ["-", "+"]
        assert lines[1] == "+" + lines[0][1:] + " Bring a chart."

    def test_administration_is_reached_from_the_navigation_and_searches(self, console: Console) -> None:
        page = console.page
        console.resize(*VIEWS[0])
        console.sign_in()
        console.open("/console")
        page.get_by_role("link", name="Administration").click()
        page.get_by_label("E-mail").fill("EDITOR@")
        page.get_by_role("button", name="Search").click()
        expect(page.get_by_role("row").filter(has_text="editor@demo.example.org")).to_be_visible()
        expect(page.get_by_role("row").filter(has_text="owner@demo.example.org")).to_have_count(0)
        page.get_by_role("link", name="Content indexes").click()
        page.get_by_label("State").select_option("ready")
        page.get_by_role("button", name="Apply").click()
        expect(page.get_by_role("row").filter(has_text="up to date")).to_have_count(1)
        page.get_by_role("link", name="Background jobs").click()
        expect(page.get_by_text("No job has failed permanently.")).to_be_visible()
        assert page.evaluate("problems") == []

    def test_connection_of_an_account_opens_the_git_host(self, console: Console) -> None:
        page = console.page
        console.sign_in()
        console.open("/console")
        link = page.locator("main a[href^='/console/organizations/']").first.get_attribute("href")
        console.open(f"{link}/connect?provider=gitlab")
        page.route(f"{HOST['GITLAB_URL']}/**", lambda route: route.fulfill(body="Git host", content_type="text/plain"))
        page.get_by_role("button", name="Connect an account of GitLab").click()
        page.wait_for_url(f"{HOST['GITLAB_URL']}/oauth/authorize?**")
        expect(page.get_by_text("Git host")).to_be_visible()
