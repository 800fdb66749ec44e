"""Two people in Chromium: a set of changes is proposed, reviewed, scheduled, published and taken back.

`GALLEY_SCREENSHOTS=FOLDER` writes each view in both sizes and themes.
"""

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from tests.serving.member import Member
from tests.serving.person import Person
from tests.serving.processes import Service, running_prepared
from tests.serving.test_console_screens import FILE, RECORDER, VIEWS, Console, repository
from tests.support.console_assets import build_assets

TITLE = "Words for the fog"
PARAGRAPH, OLD_TITLE = "In fog, sound is a place.", "title: Fog signals"
SIZES = {1440: "wide", 390: "narrow"}


@dataclass
class Changes:
    """A project of the demo with an editor, who has scripts, and an admin, who may have none."""

    service: Service
    editor: Person
    admin: Person
    findings: dict[str, object] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.project_id = Member(self.service).project
        self.project = f"/console/projects/{self.project_id}"

    def call(self, path: str, body: dict[str, object]) -> dict[str, str]:
        """Send a request of the editor to the API and return its result."""
        headers = {"Origin": self.service.base}
        response = self.editor.page.request.post(f"{self.service.base}/api/v1{path}", data=body, headers=headers)
        assert response.ok, response.text()
        result: dict[str, str] = response.json()["result"]
        return result

    def check(self, person: Person, name: str) -> None:
        """Collect the findings of the open page in both sizes and themes, and write its pictures."""
        size = person.page.viewport_size
        assert size is not None
        console = Console(self.service, person.page)
        if person.has_scripts:
            self.findings |= {f"{name} {width}": found for width, found in console.problems().items()}
        folder = os.environ.get("GALLEY_SCREENSHOTS")
        for view, _theme in VIEWS if folder else ():
            for theme in ("light", "dark"):
                console.resize(view, theme)
                file = f"changes-{name}-{SIZES[view['width']]}-{theme}.png"
                person.page.screenshot(path=Path(str(folder)) / file, full_page=True)
        console.resize(size, "light")


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    build_assets()
    with running_prepared(tmp_path_factory.mktemp("changes")) as service:
        service.wait_for("job=content.index")
        yield service


def sign_in(browser: Browser, service: Service, role: str, *, has_scripts: bool, has_pointer: bool) -> Person:
    person = Person(browser, service.base, has_scripts=has_scripts, has_pointer=has_pointer)
    if has_scripts:
        axe = build_assets().WORK / "node_modules" / "axe-core" / "axe.min.js"
        person.page.add_init_script(RECORDER)
        person.page.add_init_script(path=axe)
    person.open("/console/sign-in")
    person.fill("E-mail", f"{role}@demo.example.org")
    person.fill("Password", (service.home / "instance" / "demo_password").read_text().strip())
    person.press("Sign in")
    person.page.wait_for_url("**/console/projects/*")
    return person


def ask_for_review(person: Person) -> None:
    """Open the menu of the request and send it."""
    person.use(person.page.locator("summary").filter(has_text="Ask for a review").first)
    person.press("Ask for a review")


def propose(changes: Changes, title: str, text: bytes) -> str:
    """Create a set with a changed page and new pages through the API, and return the path of its page."""
    repo = repository(changes.service)
    made = changes.call(f"/project/{changes.project_id}/change-sets", {"title": title, "description": "For autumn."})
    files = [{"path": FILE, "action": "update", "content": text.decode()}]
    files += [
        {"path": f"content/posts/{title[:5].lower()}-{number}.md", "action": "create", "content": page}
        for number in range(4)
        for page in (f"---\ntitle: Page {number}\ndate: 2026-10-0{number + 1}\n---\n\nThe **horn** sounds.\n",)
    ]
    body = {"message": "Edit", "base_sha": repo.head(), "files": files}
    changes.call(f"/change-set/{made['id']}/commit", body)
    return f"{changes.project}/changes/{made['id']}"


def shows_state(person: Person, state: str) -> None:
    expect(person.page.locator(".content-header .badge")).to_have_text(state)


@pytest.mark.server
@pytest.mark.slow
@pytest.mark.parametrize("has_scripts", [True, False], ids=["scripts", "plain forms"])
def test_changes_are_proposed_reviewed_scheduled_published_and_taken_back_by_keyboard(
    service: Service, browser: Browser, has_scripts: bool
) -> None:
    people = [
        sign_in(browser, service, role, has_scripts=has_scripts, has_pointer=False) for role in ("editor", "admin")
    ]
    changes = Changes(service, *people)
    editor, admin, repo = changes.editor, changes.admin, repository(service)
    before = repo.show(FILE)
    text = before.replace(OLD_TITLE.encode(), b"title: Signals in fog").replace(PARAGRAPH.encode(), b"In fog, listen.")
    title = f"{TITLE} {has_scripts}"
    url = propose(changes, title, text)

    editor.open(changes.project)
    editor.follow("Review")
    changes.check(editor, "board-draft")
    editor.use_entry(title)
    shows_state(editor, "Draft")
    ask_for_review(editor)
    shows_state(editor, "In review")
    changes.check(editor, "set-own")

    admin.open("/console")
    changes.check(admin, "home")
    admin.use_entry(title)
    shows_state(admin, "In review")
    if has_scripts:
        for number in (4, 5):
            admin.page.evaluate(f"document.getElementById('page-{number}').scrollIntoView()")  # It can be replaced.
            expect(admin.page.locator(f"section[aria-labelledby=page-{number}] .changed-page__content")).to_be_visible()
        admin.page.evaluate("scrollTo(0, 0)")
    admin.use(admin.page.locator("summary").filter(has_text="Comment on this page").first)
    admin.fill_in(admin.page.locator("textarea[name=body]").first, "Is this the right word?")
    admin.use(admin.page.get_by_role("button", name="Comment", exact=True).first)
    expect(admin.page.locator(".comment__text")).to_have_text(["Is this the right word?"])
    admin.fill("Your review", "Please ask the pilot.")
    admin.use(admin.page.get_by_role("button", name="Ask for changes", exact=True).last)
    shows_state(admin, "Changes requested")
    changes.check(admin, "set-changes-requested")

    editor.open(url)
    editor.press("Resolve")
    expect(editor.page.get_by_text("Resolved")).to_be_visible()
    ask_for_review(editor)
    shows_state(editor, "In review")
    admin.open(url)
    changes.check(admin, "set-review")
    admin.press("Approve")
    shows_state(admin, "Approved")

    editor.open(url)
    changes.check(editor, "set-approved")
    editor.follow("Publish later")
    editor.set_date(editor.page.get_by_label("Date", exact=True), "2027-10-31")
    editor.reach(editor.page.get_by_label("Time", exact=True))
    editor.page.keyboard.type("0230AM")
    editor.fill("Time zone", "Europe/Berlin")
    changes.check(editor, "schedule")
    editor.press("Publish later")
    shows_state(editor, "Scheduled")
    changes.check(editor, "set-scheduled")
    editor.follow("Review")
    changes.check(editor, "board")
    editor.open(url)
    editor.press("Publish now")
    shows_state(editor, "Published")
    assert repo.show(FILE) == text
    changes.check(editor, "set-published")

    editor.follow("Take back")
    changes.check(editor, "take-back")
    editor.press("Take back")
    shows_state(editor, "Taken back")
    assert repo.show(FILE) == before
    assert (changes.findings, editor.faults, admin.faults) == ({}, [], [])
    for person in people:
        person.context.close()


@pytest.mark.server
@pytest.mark.slow
def test_conflicts_with_the_site_are_chosen_by_keyboard(service: Service, browser: Browser) -> None:
    people = [sign_in(browser, service, role, has_scripts=True, has_pointer=False) for role in ("editor", "admin")]
    changes = Changes(service, *people)
    editor, admin, repo = changes.editor, changes.admin, repository(service)
    before = repo.show(FILE)
    text = before.replace(OLD_TITLE.encode(), b"title: Signals in fog").replace(PARAGRAPH.encode(), b"In fog, listen.")
    url = propose(changes, "Other words", text)
    site = before.replace(OLD_TITLE.encode(), b"title: Fog horns").replace(PARAGRAPH.encode(), b"In fog, wait.")
    repo.commit({FILE: site}, "Change the same words")
    editor.open(url)
    ask_for_review(editor)
    shows_state(editor, "In review")
    admin.open(url)
    admin.press("Approve")
    shows_state(admin, "Approved")
    editor.open(url)
    editor.press("Publish now")
    expect(editor.page.get_by_role("heading", level=1)).to_have_text("The site has other changes")
    changes.check(editor, "conflicts")
    parts = editor.page.locator("fieldset.conflict__part")
    expect(parts).to_have_count(2)
    own = parts.first.get_by_role("radio").last
    editor.reach(parts.first.get_by_role("radio").first)
    editor.page.keyboard.press("ArrowUp")
    expect(own).to_be_checked()
    editor.fill_in(parts.first.get_by_role("textbox"), "Horns in fog")
    editor.reach(parts.last.get_by_role("radio").first)
    editor.page.keyboard.press("Space")
    editor.press("Save")
    shows_state(editor, "In review")
    admin.open(url)
    admin.press("Approve")
    shows_state(admin, "Approved")
    admin.press("Publish now")
    shows_state(admin, "Published")
    merged = repo.show(FILE).decode()
    assert "title: Horns in fog" in merged
    assert re.search(r"^In fog, listen\.", merged, re.MULTILINE)
    assert (changes.findings, editor.faults, admin.faults) == ({}, [], [])
    for person in people:
        person.context.close()
