"""The steps of a person at the console: sign-up, connection of a repository, edits, conflict, restore, invitation."""

import re
import time
from pathlib import Path

from playwright.sync_api import FilePayload, expect

from tests.serving.person import Person
from tests.serving.processes import Service
from tests.serving.test_console_screens import PNG
from tests.support.assertions.mailbox import LINK, Mailbox
from tests.support.samples.gitrepo import GitRepo

PASSWORD = "Quiet-Harbour-Boat-7"
WITHIN_S, PREVIEW_MS = 240, 60_000
FILE = "content/posts/fog-signals.md"
FIRST = "In fog, sound is a place."
IMAGE: FilePayload = {"name": "low-tide.png", "mimeType": "image/png", "buffer": PNG}


class Repository:
    """A connected repository, judged by its commits."""

    def __init__(self, repo: GitRepo) -> None:
        self.repo, self.head = repo, repo.head()

    def changed(self) -> list[str]:
        """Return the changed lines of all commits since the last call."""
        log = self.repo.git("log", "-p", "--reverse", "--format=", "-U0", f"{self.head}..main").decode()
        self.head = self.repo.head()
        return [line for line in log.splitlines() if line[:1] in "+-" and line[:3] not in ("+++", "---")]

    def push(self, path: str, old: str, new: str, message: str) -> None:
        """Change a text as a colleague does with Git."""
        text = self.repo.show(path).decode()
        assert old in text
        self.repo.commit({path: text.replace(old, new).encode()}, message)
        self.head = self.repo.head()


def sign_up(person: Person, service: Service, email: str) -> None:
    """Create an account with a mailed code."""
    person.open("/console/sign-in")
    person.follow("Sign up")
    complete_sign_up(person, service, email)


def complete_sign_up(person: Person, service: Service, email: str) -> None:
    person.fill("Name", "Nell")
    person.fill("E-mail", email)
    person.fill("Password", PASSWORD)
    person.press("Sign up")
    person.page.wait_for_url("**/verify?**")
    mailbox, deadline = Mailbox(service.home / "mail", email), time.monotonic() + WITHIN_S
    while not mailbox.codes() and time.monotonic() < deadline:
        person.page.wait_for_timeout(100)
    person.fill("Code", mailbox.codes()[-1])
    person.press("Confirm")
    person.page.wait_for_url("**/console")


def connect(
    person: Person, service: Service, source: GitRepo, commit: str, name: str, folder: Path
) -> tuple[str, Repository]:
    """Upload the files of a repository, and return the path of the project."""
    archive = folder / f"{name}.tar.gz"
    archive.write_bytes(source.git("archive", "--format=tar.gz", "--prefix=site/", commit))
    person.open("/console")
    person.follow("Pier")
    person.follow("Connect a repository")
    person.choose_file("Archive file", archive)
    person.press("Upload and connect")
    person.page.wait_for_url("**/projects/**", timeout=WITHIN_S * 1000)
    project = re.sub(r"\?.*", "", person.page.url.removeprefix(service.base))
    return project, Repository(GitRepo.existing(next((service.home / "instance").rglob(f"{name}.git"))))


def edit_with_image(person: Person, project: str) -> None:
    """Open a page by its folders, edit a field, a paragraph and an image, look at the preview, and save."""
    page = person.page
    if not person.has_scripts:
        person.open(project)
        person.follow("Media")
        person.choose_file("Image", IMAGE)
        person.press("Upload")
        image_link = page.get_by_role("link", name="low-tide.png")
        person.open_until(page.url, lambda: image_link.count() > 0)
    entry = page.get_by_role("link", name="Fog signals")
    person.open_until(f"{project}/content/content/posts", lambda: entry.count() > 0)
    person.use_entry("Fog signals")
    page.wait_for_url(f"**/edit/{FILE}")
    if person.has_scripts:
        write(person, "Listen. ")
        page.keyboard.press("Control+End")
        insert_image(person)
        expect(page.locator("textarea[name=body]")).to_have_value(re.compile(r"!\[The pier\]\(/low-tide\.png\)"))
        check_preview(person, "Listen.")
        person.fill_in(page.locator("[name='fm.title']"), "Signals in fog")
        save(person)
        return
    body = page.locator("textarea[name=body]")
    text = body.input_value().rstrip().replace(FIRST, f"Listen. {FIRST}")
    body.fill(f"{text}![The pier](/low-tide.png)\n")
    person.fill_in(page.locator("[name='fm.title']"), "Signals in fog")
    save(person)
    check_preview(person, "Listen.")


def write(person: Person, text: str) -> None:
    """Write at the start of the formatted text."""
    editor = person.page.locator(".ProseMirror")
    if person.has_pointer:
        editor.click()
    else:
        person.reach(editor)
    person.page.keyboard.press("Control+Home")
    person.page.keyboard.type(text)


def insert_image(person: Person) -> None:
    """Upload an image and insert it at the cursor with a description."""
    page = person.page
    person.press("Image", within=page.get_by_role("toolbar"))
    dialog = page.get_by_role("dialog")
    person.choose_file("Upload a new image", IMAGE)
    description = dialog.get_by_label(person.say("Description"))
    expect(description).to_have_value("low tide")
    person.fill_in(description, "The pier")
    person.press("Insert", within=dialog)
    expect(dialog).to_be_hidden()


def check_preview(person: Person, text: str) -> None:
    """Open the preview, wait for a text of the page, and close it."""
    page = person.page
    person.use(page.locator("[data-panel-toggle=preview]"))
    if person.has_scripts:
        frame = page.frame_locator("iframe[data-preview-frame]")
        expect(frame.get_by_text(text).first).to_be_visible(timeout=PREVIEW_MS)
        text = page.get_by_role("button", name=person.say("Text"), exact=True)
        person.use(text if text.is_visible() else page.locator("[data-panel-toggle=fields]"))
        return
    person.press("Start the preview")
    expect(page.get_by_role("button", name=person.say("Start the preview"), exact=True)).to_be_hidden()
    reload = page.get_by_role("link", name=person.say("Reload"), exact=True)
    frame = page.frame_locator("iframe[data-preview-frame]")
    deadline = time.monotonic() + WITHIN_S
    while not frame.get_by_text(text).count():
        assert time.monotonic() < deadline, "the preview does not show the text"
        page.wait_for_timeout(500)
        if reload.count():  # A page that is left has none.
            person.use(reload)
    expect(frame.get_by_text(text).first).to_be_visible(timeout=PREVIEW_MS)


def save(person: Person) -> None:
    """Save and wait for the message."""
    if person.has_pointer:
        person.press("Save")
    else:
        person.page.keyboard.press("Control+s")
    expect(person.page.locator(".toast")).to_be_visible()


def edit(person: Person, title: str, text: str) -> None:
    """Change the title and the first paragraph of the open page, and save."""
    write(person, text)
    person.fill_in(person.page.locator("[name='fm.title']"), title)
    save(person)


def resolve_conflict(person: Person, project: str, connected: Repository) -> None:
    """Edit a paragraph that a push changes at the same time, compare the versions, and keep the own one."""
    page = person.page
    person.open(f"{project}/edit/{FILE}")
    if person.has_scripts:
        write(person, "Mine. ")
        expect(page.locator("textarea[name=body]")).to_have_value(re.compile(r"Mine\. Listen\."))
    else:
        body = page.locator("textarea[name=body]")
        body.fill(body.input_value().replace("Listen.", "Mine. Listen."))
    connected.push(FILE, "Listen.", "Theirs. Listen.", "Change the first paragraph")
    if person.has_pointer:
        person.press("Save")
    else:
        page.keyboard.press("Control+s")
    page.wait_for_url("**/conflict/**")
    for text in ("Mine. Listen.", "Theirs. Listen."):
        expect(page.get_by_text(text).first).to_be_visible()
    person.press("Save")
    page.wait_for_url("**/edit/**")
    before, after = connected.changed()
    assert before.startswith("-Theirs. Listen. In fog")
    assert after == f"+Mine.{before.removeprefix('-Theirs.')}"


def restore(person: Person, connected: Repository) -> None:
    """Restore the version of the colleague."""
    page = person.page
    person.use(page.locator("[data-panel-toggle=history]"))
    person.use(page.get_by_role("link", name=person.say("All versions"), exact=True))
    row = page.get_by_role("row").filter(has_text="Change the first paragraph")
    person.press("Restore this version", within=row)
    page.wait_for_url("**done=restored**")
    before, after = connected.changed()
    assert (before[:6], after[:8]) == ("-Mine.", "+Theirs.")


def invite(person: Person, colleague: Person, service: Service, email: str) -> None:
    """Invite a colleague, who signs up with the link of the mail."""
    person.open("/console")
    person.follow("Pier")
    person.follow("Members")
    person.fill("E-mail", email)
    person.press("Invite")
    expect(person.page.get_by_text(email).first).to_be_visible()
    mailbox, deadline = Mailbox(service.home / "mail", email), time.monotonic() + WITHIN_S
    while not mailbox.mails() and time.monotonic() < deadline:
        person.page.wait_for_timeout(100)
    [link] = LINK.findall(mailbox.texts()[-1])
    assert link.startswith(service.base)
    colleague.open(link)
    colleague.follow("Sign up")
    complete_sign_up(colleague, service, email)
