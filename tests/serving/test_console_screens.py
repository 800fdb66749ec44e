"""The console in Chromium: accessibility, layout, policy violations, and a save by keyboard."""

import base64
import gzip
import json
import re
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Literal

import brotli
import pytest
from playwright.sync_api import Browser, Page, ViewportSize, expect

from tests.serving.processes import Service, running_prepared
from tests.support.console_assets import build_assets
from tests.support.samples.gitrepo import GitRepo

MAX_PAGE_BYTES = 30 * 1024
MAX_SCREENS = 2
"""Height of an operation of the reference page."""

RELOADS = 100
"""Reloads of a page until a background job has changed it."""

REFERENCE_MS = 150_000
"""The page renders the complete document, which takes long beside other tests."""
TALLEST_OPERATIONS = ("project_content-listEntries", "sandbox-createSandbox")

Theme = Literal["light", "dark"]
VIEWS: tuple[tuple[ViewportSize, Theme], ...] = (
    ({"width": 1440, "height": 900}, "light"),
    ({"width": 390, "height": 844}, "dark"),
)
FILE = "content/posts/fog-signals.md"
READY = {
    f"/edit/{FILE}": ".ProseMirror",
    f"/edit/{FILE}?mode=source": ".cm-content",
    f"/edit/{FILE}?panel=fields": ".ProseMirror",
    "/edit/hugo.toml": ".cm-content",
}
"""Paths below a project, and the selector of an element that appears when the page is ready."""

PROJECT_PATHS = (
    *(
        *READY,
        "/edit/none.md",
        "/collections/content-posts?view=grid&group=year",
        "/content/content?view=tree&state=draft",
    ),
    *("/search?q=fog", "/search?q=nothing"),
)
QUERIES = ("verify?email=a@mail.example.org", "reset-password?token=x")
CHANGED = "content/docs/knots.md"
SHORTCUTS = ("Control+k", "?")
MIN_DIALOGS = 5
HOST = {"GITLAB_URL": "http://127.0.0.1:9", "GITLAB_CLIENT_ID": "console", "GITLAB_CLIENT_SECRET": "secret"}
"""A Git host. The browser answers its requests."""

CLONES = {"GIT_CLONE_HOSTS": "127.0.0.1"}
SEND_WITHOUT_SESSION = """() => {
  const form = document.createElement("form");
  [form.method, form.action] = ["post", "/console/organizations"];
  form.innerHTML = "<textarea name='name'>Two&#10;lines</textarea>";
  document.body.append(form);
  form.submit();
}"""

PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
RECORDER = """
window.problems = [];
addEventListener("securitypolicyviolation", (event) => problems.push(`policy ${event.violatedDirective} ${event.blockedURI}`));
addEventListener("error", (event) => problems.push(`error ${event.message ?? event.target.outerHTML}`), true);
addEventListener("unhandledrejection", (event) => problems.push(`rejection ${event.reason}`));
"""
FINDINGS = """async (rules) => {
  const closed = [...document.querySelectorAll("details:not([open])")];
  for (const each of closed) each.open = true;
  // axe-core need not compute the selectors of nodes and the details of passed rules.
  const { violations } = await axe.run({ resultTypes: ["violations"], selectors: false, ...(rules && { runOnly: rules }) });
  const findings = violations.filter(({ impact }) => impact === "serious" || impact === "critical")
    .map(({ id, nodes }) => `${id}: ${nodes[0].html.slice(0, 200)}`);
  const overflow = document.documentElement.scrollWidth > innerWidth ? ["overflow"] : [];
  for (const each of closed) each.open = false;
  const cut = [...document.querySelectorAll("main :is(a, button)")]
    .filter((each) => each.checkVisibility({ visibilityProperty: true }) && each.getBoundingClientRect().left < 0)
    .map((each) => `cut: ${each.outerHTML.slice(0, 200)}`);
  return [...findings, ...problems, ...overflow, ...cut];
}"""
"""Findings of axe-core, of all rules or some, the recorded problems and a horizontal overflow, and links before the edge.

Closed parts are opened."""


class Console:
    """A browser that is signed in to the demo."""

    def __init__(self, service: Service, page: Page) -> None:
        self.service, self.page = service, page

    def open(self, path: str, ready: str = "main") -> None:
        """Open a page and wait for its scripts and an element."""
        self.page.goto(self.service.base + path)
        self.page.locator(f"html.has-script {ready}").first.wait_for()

    def organization(self) -> str:
        """Open the home page and return the path of its first organization."""
        self.open("/console")
        link = self.page.locator("main a[href^='/console/organizations/']").first.get_attribute("href")
        assert link is not None
        return link

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

    def problems(self) -> dict[int, list[str]]:
        """Return the findings and problems of the open page in both views by the width of the view.

        In the other theme of a view, only the colours can differ. The current view is the first. The page stays in
        the other one.
        """
        found = {}
        for size, theme in VIEWS if self.page.viewport_size == VIEWS[0][0] else reversed(VIEWS):
            self.resize(size, "dark" if theme == "light" else "light")
            found[size["width"]] = self.page.evaluate(FINDINGS, ["color-contrast"])
            self.resize(size, theme)
            found[size["width"]] += self.page.evaluate(FINDINGS)
        return {width: problems for width, problems in found.items() if problems}

    def open_dialogs(self, known: set[str]) -> Iterator[str]:
        """Open each dialog of the page once whose name is not known, and yield its name. Escape closes it."""
        triggers = self.page.locator("[aria-haspopup=dialog]:visible")
        openers: dict[str, Callable[[], None]] = {
            trigger.get_attribute("aria-label") or trigger.inner_text(): trigger.click for trigger in triggers.all()
        }
        shortcuts = SHORTCUTS if self.page.locator("a[data-help]").count() else SHORTCUTS[:1]
        openers |= {key: partial(self.page.keyboard.press, key) for key in shortcuts}
        for name, open_dialog in openers.items():
            if name in known:
                continue
            known.add(name)
            open_dialog()
            self.page.locator("dialog[open]").wait_for()
            yield name
            self.page.keyboard.press("Escape")
            self.page.locator("dialog").wait_for(state="detached")  # A closing dialog still takes the keys.

    def resize(self, size: ViewportSize, theme: Theme) -> None:
        """Set the size of the page and the preferred theme."""
        self.page.set_viewport_size(size)
        self.page.emulate_media(color_scheme=theme, reduced_motion="reduce")


@contextmanager
def running_console(browser: Browser, home: Path, **environment: str) -> Iterator[Console]:
    """Run the service with built assets for the length of the block, and open a page."""
    axe = build_assets().WORK / "node_modules" / "axe-core" / "axe.min.js"
    # The page is closed first. The service waits for its connections.
    with running_prepared(home, **environment) as service, browser.new_context() as context:
        service.wait_for("job=content.index")
        page = context.new_page()
        page.add_init_script(RECORDER)
        page.add_init_script(path=axe)
        yield Console(service, page)


@pytest.fixture(scope="module")
def console(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Console]:
    """A console that connects a Git host, whose user is a platform admin."""
    with running_console(browser, tmp_path_factory.mktemp("console"), **HOST, **CLONES) as console:
        console.service.flask("user", "promote", "owner@demo.example.org")
        yield console


def page_paths(console: Console, **values: str) -> list[str]:
    """Return the paths of all pages of the console. A URL with a new parameter needs a value."""
    rules = [rule for rule in console.service.app.url_map.iter_rules() if rule.endpoint.startswith("console.")]
    parameters = {
        "unknown": "none",
        "name": "content-posts",
        "folder": "content/posts",
        "file": FILE,
        "import_id": "none",
        "webhook_id": "none",
        "change_set_id": "none",
        "delivery_id": "none",
        "hook_id": "none",
        "sha": "0" * 40,
    }
    parameters |= values
    built = [
        rule.build({name: parameters[name] for name in rule.arguments})
        for rule in rules
        if "GET" in (rule.methods or ())
    ]
    return sorted(url for _, url in filter(None, built))


def new_set(console: Console, project_id: str) -> str:
    """Propose a change of a page as the signed-in person, and return the id of the set."""
    api, repo = console.page.request, repository(console.service)
    base, headers = f"{console.service.base}/api/v1", {"Origin": console.service.base}
    settings = {"required_approvals": 0}
    assert api.patch(f"{base}/project/{project_id}", data=settings, headers=headers).ok
    made = api.post(f"{base}/project/{project_id}/change-sets", data={"title": "New words"}, headers=headers).json()
    text = repo.show(FILE).decode().replace("In fog", "In the fog")
    edit = {"path": FILE, "action": "update", "content": text}
    body = {"message": "Edit", "base_sha": repo.head(), "files": [edit]}
    set_id: str = made["result"]["id"]
    assert api.post(f"{base}/change-set/{set_id}/commit", data=body, headers=headers).ok
    return set_id


def history(service: Service) -> str:
    """Return the last change of the demo repository as a patch."""
    return repository(service).text("log", "-p", "-1", "--format=%s", "main")


def states(console: Console) -> Iterator[str]:
    """Open the screens that follow from a form or from the change of another person, and yield their names."""
    page = console.page
    console.open("/console/sign-in")
    page.evaluate(SEND_WITHOUT_SESSION)
    page.get_by_role("button", name="Send again").wait_for()
    yield "session ended"
    console.open("/console/sign-in")
    page.get_by_label("E-mail").fill("owner@demo.example.org")
    page.get_by_label("Password", exact=True).fill("wrong")
    page.get_by_role("button", name="Sign in", exact=True).click()
    page.get_by_role("alert").wait_for()
    yield "refused sign-in"
    project, organization = console.sign_in(), console.organization()
    console.open(f"{organization}/members")
    page.get_by_label("E-mail").last.fill("new@mail.example.org")
    page.get_by_role("button", name="Invite", exact=True).click()
    page.get_by_role("heading", name="Open invitations").wait_for()
    yield "open invitation"
    console.open(f"{organization}/connect?provider=local")
    page.get_by_label("URL of a public repository").fill("http://127.0.0.1:9/docs")
    page.get_by_role("button", name="Clone and connect").click()
    page.wait_for_url("**/imports/**")
    page.get_by_text("The repository was not connected.").wait_for(timeout=60_000)
    yield "failed clone"
    console.open("/console/account/tokens")
    page.get_by_label("Name", exact=True).fill("Build")
    page.get_by_role("button", name="Create token").click()
    page.get_by_label("Secret").wait_for()
    yield "secret of a token"
    console.open(f"{project}/media")
    page.get_by_label("Image", exact=True).set_input_files({"name": "pier.png", "mimeType": "image/png", "buffer": PNG})
    page.get_by_role("button", name="Upload").click()
    page.wait_for_url("**done=uploaded**")
    image = page.get_by_role("link", name="pier.png")
    for _ in range(RELOADS):
        if image.count():
            break
        page.wait_for_timeout(200)
        page.reload()
    page.locator("html.has-script").wait_for()
    yield "media"
    image.click()
    page.get_by_role("heading", name="Used in").wait_for()
    yield "image"
    console.open(f"{project}/edit/{CHANGED}", ".ProseMirror")
    page.locator(".ProseMirror > p").last.click()
    page.keyboard.press("End")
    page.keyboard.type(" Mine.")
    page.get_by_text("Draft stored").wait_for()
    console.open(f"{project}/edit/{CHANGED}", ".ProseMirror")
    yield "draft"
    repo = repository(console.service)
    repo.commit({CHANGED: repo.show(CHANGED).rstrip() + b" Theirs.\n"}, "Change the last paragraph")
    console.open(f"{project}/edit/{CHANGED}")
    yield "outdated draft"
    page.get_by_role("link", name="Compare the versions").click()
    page.get_by_role("heading", name="Mine").first.wait_for()
    yield "conflict"
    console.open(f"{project}/history/{CHANGED}")
    page.get_by_role("button", name="Restore this version").first.wait_for()
    yield "history"
    page.get_by_role("link", name="Change the last paragraph").click()
    page.get_by_role("heading", name="Comparison").wait_for()
    yield "comparison"


def repository(service: Service) -> GitRepo:
    """Return the demo repository."""
    [path] = (service.home / "instance").rglob("harbour-journal.git")
    return GitRepo.existing(path)


@pytest.mark.server
class TestBrowser:
    def test_pages_and_their_dialogs_have_no_serious_finding_in_both_themes_and_sizes(self, console: Console) -> None:
        findings: dict[str, object] = {}
        dialogs: set[str] = set()
        for is_signed_in in (False, True):
            project, organization = (console.sign_in(), console.organization()) if is_signed_in else ("/p", "/o")
            ids = {"project_id": project.rpartition("/")[2], "org_id": organization.rpartition("/")[2]}
            paths = [*page_paths(console, **ids), *(f"/console/{path}" for path in QUERIES)]
            if is_signed_in:
                changes = f"{project}/changes/{new_set(console, ids['project_id'])}"
                paths += [changes, f"{changes}/pages/{FILE}", f"{changes}/schedule", f"{project}/changes?state=draft"]
                paths += [f"{organization}/connect?provider=local", *(project + path for path in PROJECT_PATHS)]
            for path in paths:
                console.resize(*VIEWS[0])
                response = console.page.goto(console.service.base + path)
                opened = console.page.url.removeprefix(console.service.base)
                is_page = response is not None and response.headers["content-type"].startswith("text/html")
                if not is_page or opened in findings or (not is_signed_in and "next=" in opened):
                    continue
                ready = READY.get(opened.removeprefix(project), "main")
                console.page.locator(f"html.has-script {ready}").first.wait_for()
                findings[opened] = console.problems()
                console.resize(*VIEWS[0])
                for name in console.open_dialogs(dialogs):
                    findings[f"{opened}: {name}"] = console.problems()
                    console.resize(*VIEWS[0])
        assert {path: problems for path, problems in findings.items() if problems} == {}
        assert len(dialogs) >= MIN_DIALOGS

    def test_states_of_screens_have_no_serious_finding_in_both_themes_and_sizes(self, console: Console) -> None:
        console.page.context.clear_cookies()
        console.resize(*VIEWS[0])
        findings = {}
        for name in states(console):
            console.page.locator("html.has-script main").wait_for()
            findings[name] = console.problems()
            console.resize(*VIEWS[0])
        assert {name: problems for name, problems in findings.items() if problems} == {}
        assert len(findings) == 12

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

    def test_long_list_loads_rows_on_scroll_and_filters_typed_text(self, console: Console) -> None:
        page = console.page
        console.resize(*VIEWS[0])
        project, rows = console.sign_in(), page.locator("#rows tr")
        files = {f"content/many/page-{n:03}.md": f"# Page {n:03}\n".encode() for n in range(150)}
        repository(console.service).commit(files, "Add many pages")
        for _ in range(RELOADS):
            if rows.count():
                break
            console.open(f"{project}/content/content/many")
        expect(rows).to_have_count(100)
        assert len(gzip.compress(page.request.get(page.url).body())) < MAX_PAGE_BYTES
        rows.last.scroll_into_view_if_needed()
        page.mouse.wheel(0, 2_000)
        expect(rows).to_have_count(150)
        expect(page.get_by_role("link", name="Load more")).to_have_count(0)
        page.get_by_label("Filter").press_sequentially("page-14")
        expect(rows).to_have_count(10)
        expect(page.get_by_label("Filter")).to_be_focused()
        assert page.url.endswith("/content/content/many?q=page-14&sort=name&state=all&view=list")
        assert page.evaluate("problems") == []

    def test_entries_are_filtered_at_once_and_changed_together(self, console: Console) -> None:
        page = console.page
        console.resize(*VIEWS[0])
        project, rows = console.sign_in(), page.locator("#rows tr")
        text = "---\ntitle: Note {0}\ndate: 20{1}-01-{2:02}\ndraft: {3}\n---\n"
        files = {
            f"content/notes/note-{n:03}.md": text.format(n, 10 + n // 10, 1 + n % 28, str(n % 2 == 0).lower()).encode()
            for n in range(150)
        }
        repository(console.service).commit(files, "Add notes")
        while rows.count() < 100 or not page.get_by_label("State").count():
            console.open(f"{project}/collections/content-notes")
        expect(rows.first).to_contain_text("Note 149")
        rows.last.scroll_into_view_if_needed()
        page.mouse.wheel(0, 4_000)
        expect(rows).to_have_count(150)
        page.get_by_label("State").select_option("draft")
        expect(rows).to_have_count(75)
        assert "state=draft" in page.url
        page.get_by_label("Group by").select_option("year")
        expect(page.get_by_role("rowheader", name="2024")).to_be_visible()
        page.get_by_label("Filter").fill("note 14")
        expect(rows.filter(has=page.get_by_role("checkbox"))).to_have_count(6)
        rows.get_by_role("link").first.focus()
        page.keyboard.press("j")
        page.keyboard.press("x")
        expect(page.get_by_text("1 selected")).to_be_visible()
        expect(page.get_by_label("Filter")).to_be_hidden()
        page.get_by_label("Select all 6").check()
        expect(page.get_by_text("6 selected")).to_be_visible()
        assert console.problems() == {}
        console.resize(*VIEWS[0])
        page.get_by_role("button", name="Publish").click()
        expect(page.locator(".toast")).to_be_visible()
        assert history(console.service).count("+draft: false") == 6
        assert page.evaluate("problems") == []

    def test_preview_start_shows_its_steps_and_then_the_site(self, console: Console) -> None:
        page = console.page
        console.resize(*VIEWS[0])
        project = console.sign_in()
        console.open(f"{project}/preview")
        page.get_by_role("button", name="Start the preview").click()
        expect(page.locator(".steps > li[aria-current=step]")).to_have_count(1)
        expect(page.get_by_role("status")).to_contain_text("of 5:")
        expect(page.frame_locator("iframe.preview-frame").get_by_text("Latest posts")).to_be_visible()
        assert page.url.endswith(f"{project}/preview")
        assert console.problems() == {}
        page.get_by_role("button", name="Stop").click()
        page.wait_for_url("**done=stopped")

    def test_administration_is_reached_from_the_navigation_and_searches(self, console: Console) -> None:
        page = console.page
        console.resize(*VIEWS[0])
        console.sign_in()
        console.open("/console")
        page.locator(".sidebar__person > summary").click()
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


LOADED = """(url) => new Promise((done) => {
  const script = document.createElement("script");
  script.src = url;
  script.onload = () => done("loaded");
  script.onerror = () => done("refused");
  document.head.append(script);
})"""


@pytest.mark.server
def test_only_files_of_the_page_run_as_scripts(console: Console) -> None:
    project = console.sign_in()
    console.open(f"{project}/media", "main")
    api = f"/api/v1/project-content/{project.rpartition('/')[2]}"
    built = next(src for src in console.page.evaluate("[...document.scripts].map(({ src }) => src)") if src)
    others = (f"{api}/raw?file=hugo.toml", "/media/none.js", "/console/sign-in", "/api/v1/openapi.json", "/healthz")
    assert [console.page.evaluate(LOADED, url) for url in (built, *others)] == ["loaded"] + ["refused"] * len(others)
    violations = console.page.evaluate("problems.filter((text) => text.startsWith('policy script-src-elem'))")
    assert len(violations) == len(others)


DECODERS: dict[str | None, Callable[[bytes], bytes]] = {"br": brotli.decompress, "gzip": gzip.decompress, None: bytes}


@pytest.mark.server
@pytest.mark.parametrize(
    ("accepted", "coding", "share"), [("gzip, br", "br", 0.4), ("gzip", "gzip", 0.45), ("identity", None, 1)]
)
def test_scripts_and_styles_are_compressed_and_immutable(
    console: Console, accepted: str, coding: str | None, share: float
) -> None:
    static = build_assets().STATIC
    manifest = json.loads((static / "manifest.json").read_text())
    for name in ("console.js", "console.css", "icons.svg"):
        url = f"{console.service.base}/console/static/{manifest[name]}"
        with urllib.request.urlopen(urllib.request.Request(url, headers={"Accept-Encoding": accepted})) as response:
            data = response.read()
        plain = (static / manifest[name]).read_bytes()
        assert response.headers["Content-Encoding"] == coding
        assert response.headers["Cache-Control"] == "public, max-age=31536000, immutable"
        assert len(data) <= len(plain) * share
        assert DECODERS[coding](data) == plain


@pytest.mark.server
def test_reference_page_shows_an_operation_without_a_policy_violation(console: Console) -> None:
    page = console.page
    page.set_default_timeout(REFERENCE_MS)
    page.set_viewport_size(VIEWS[0][0])
    page.goto(f"{console.service.base}/api/v1/docs/")
    expect(page.locator(".opblock-tag").first).to_be_visible()
    page.locator(".opblock-tag", has=page.get_by_text("project_content", exact=True)).click()
    page.locator('.opblock-summary-path[data-path$="/commit"]').click()
    operation = page.locator(".opblock.is-open")
    errors = operation.locator(".errors")
    errors.locator("summary").click()
    row = errors.get_by_role("row", name="CONFLICT")
    expect(row.locator("td").last).to_contain_text("The request conflicts")
    expect(operation.locator("tr.response")).to_have_count(2)
    expect(operation.locator(".opblock-section-request-body .model-example")).to_contain_text('"base_sha"')
    errors.locator("summary").click()
    assert operation.bounding_box()["height"] <= MAX_SCREENS * VIEWS[0][0]["height"]
    page.locator(".opblock-tag", has=page.get_by_text("sandbox", exact=True)).click()
    for name in TALLEST_OPERATIONS:
        operation = page.locator(f"#operations-{name}")
        operation.locator(".opblock-summary-control").click()
        expect(operation.locator(".responses-wrapper")).to_be_visible()
        assert operation.bounding_box()["height"] <= MAX_SCREENS * VIEWS[0][0]["height"]
    assert page.evaluate("problems") == []
    assert page.evaluate(LOADED, "/console/static/none.js") == "refused"
