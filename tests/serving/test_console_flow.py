"""The complete use of the console in Chromium: from the sign-up to a colleague who edits in a second browser.

`git log -p` is the judge: a commit contains the edited lines and no others.
"""

import os
import re
import shutil
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import pytest
import requests
from playwright.sync_api import Browser

from tests.serving import documentation
from tests.serving.console_steps import (
    FILE,
    FIRST,
    Repository,
    connect,
    edit,
    edit_with_image,
    invite,
    resolve_conflict,
    restore,
    sign_up,
)
from tests.serving.person import WITHIN_S, Person
from tests.serving.processes import ROOT, Service, running, running_prepared
from tests.support.assertions.mailbox import Mailbox
from tests.support.console_assets import build_assets
from tests.support.samples.gitrepo import GitRepo

DEMO = ROOT / "app" / "cli" / "demo_site"
LAST = "Sit on the quay with your eyes shut"
NO_REGISTRY = {"npm_config_registry": "http://127.0.0.1:9"}


@dataclass(frozen=True)
class Variant:
    """A language, a width, scripts or plain forms, and the pointer or the keyboard.

    Without scripts the flow ends before the second repository and the colleague: their pages are like those before.
    """

    language: str = "en"
    width: int = 1280
    has_scripts: bool = True
    has_pointer: bool = True


VARIANTS = {
    "plain forms": Variant(has_scripts=False),
    "keyboard, Arabic, narrow": Variant("ar", 390, has_pointer=False),
}
if os.environ.get("GALLEY_LONG"):
    VARIANTS |= {
        "pointer": Variant(),
        "keyboard": Variant(has_pointer=False),
        "narrow": Variant(width=390),
        "Arabic": Variant("ar"),
    }


@pytest.fixture
def service(request: pytest.FixtureRequest) -> Service:
    variant: Variant = request.getfixturevalue("variant")
    running: Service = request.getfixturevalue("service_with_scripts" if variant.has_scripts else "service_without_npm")
    return running


@pytest.fixture(scope="module")
def service_with_scripts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    build_assets()
    with running_prepared(tmp_path_factory.mktemp("console")) as service:
        yield service


@pytest.fixture(scope="module")
def service_without_npm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """Run a new checkout. The npm registry cannot be reached, so it has no scripts."""
    home = tmp_path_factory.mktemp("plain")
    root = home / "checkout"
    shutil.copytree(ROOT / "app", root / "app", ignore=shutil.ignore_patterns("static", "node_modules"))
    for name in ("deploy", "migrations"):
        shutil.copytree(ROOT / name, root / name)
    for file in (path for path in ROOT.iterdir() if path.is_file()):
        shutil.copy2(file, root / file.name)
    (root / ".venv").symlink_to(ROOT / ".venv")
    with running(home, root, npm_config_cache=str(home / "cache"), **NO_REGISTRY) as service:
        assert "The console works without scripts" in (home / "service.log").read_text()
        yield service


@pytest.mark.server
@pytest.mark.slow
@pytest.mark.parametrize("variant", VARIANTS.values(), ids=VARIANTS.keys())
def test_flow_changes_only_the_edited_lines(
    service: Service, browser: Browser, variant: Variant, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    name = re.sub(r"\W+", "-", request.node.callspec.id).lower()
    person = person_of(browser, service, variant)
    sign_up(person, service, f"{name}@mail.example.org")
    person.fill("Name", "Pier")
    person.press("Create organization")
    person.page.wait_for_url("**/organizations/**")
    demo = GitRepo(
        tmp_path / "demo", {str(f.relative_to(DEMO)): f.read_bytes() for f in DEMO.rglob("*") if f.is_file()}
    )
    project, connected = connect(person, service, demo, "main", f"harbour-{name}", tmp_path)

    edit_with_image(person, project)
    assert connected.changed() == [
        *("-title: Fog signals", "+title: Signals in fog"),
        *(f"-{line_of(demo, FIRST)}", f"+Listen. {line_of(demo, FIRST)}"),
        *(f"-{line_of(demo, LAST)}", f"+{line_of(demo, LAST)}![The pier](/low-tide.png)"),
    ]
    resolve_conflict(person, project, connected)
    restore(person, connected)

    if variant.has_scripts:
        edit_documentation_with_colleague(person, person_of(browser, service, variant), service, name, tmp_path)
    assert person.faults == []
    person.context.close()


@pytest.mark.server
@pytest.mark.parametrize("has_scripts", [True, False], ids=["scripts", "plain forms"])
def test_reset_mail_of_the_api_leads_to_a_form_that_sets_the_password(
    service_with_scripts: Service, browser: Browser, has_scripts: bool
) -> None:
    service, email = service_with_scripts, f"reset-{has_scripts}@mail.example.org".lower()
    person = person_of(browser, service, Variant(has_scripts=has_scripts))
    sign_up(person, service, email)
    requests.post(f"{service.base}/api/v1/auth/forget-password", json={"email": email}, timeout=30).raise_for_status()
    [link] = mailed_links(person, service, email, "#token=")
    person.open(link)
    if has_scripts:
        assert urlsplit(person.page.url).fragment == ""
    else:
        person.fill("Token", link.partition("#token=")[2])
    person.fill("New password", "Another-Harbour-7")
    person.press("Change the password")
    person.page.wait_for_url("**/sign-in?done=password")
    assert person.faults == []
    person.context.close()


def mailed_links(person: Person, service: Service, email: str, part: str) -> list[str]:
    """Return the links of the mails to an address that contain a text. Waits for the first one."""
    mailbox, deadline = Mailbox(service.home / "mail", email), time.monotonic() + WITHIN_S
    while not (links := [url for text in mailbox.texts() for url in re.findall(r"http://\S+", text) if part in url]):
        assert time.monotonic() < deadline, "no mail was sent"
        person.page.wait_for_timeout(100)
    return links


def edit_documentation_with_colleague(
    person: Person, colleague: Person, service: Service, name: str, folder: Path
) -> None:
    """Connect a repository with documentation, edit a page, and invite a colleague who edits the page too."""
    source, commit = documentation.repository(folder / "documentation")
    page = documentation.editable(source, commit)
    docs, connected_docs = connect(person, service, source, commit, f"docs-{name}", folder)
    hits = person.page.get_by_role("main").locator(f"a[href$='/edit/{page.path}']")
    person.open_until(f"{docs}/search?q={page.title}", lambda: hits.count() > 0)
    person.page.goto(f"{service.base}{docs}/edit/{page.path}")
    edit(person, title="New title", text="Edited. ")
    assert connected_docs.changed() == [
        *(f"-{page.title_line}", f"+{page.title_line.replace(page.title, 'New title')}"),
        *(f"-{page.paragraph}", f"+Edited. {page.paragraph}"),
    ]

    invite(person, colleague, service, f"colleague-{name}@mail.example.org")
    colleague.open(f"{docs}/edit/{page.path}")
    edit(colleague, title="Newer title", text="")
    assert [line[0] for line in connected_docs.changed()] == ["-", "+"]
    assert "Nell" in source_author(connected_docs)
    assert colleague.faults == []
    colleague.context.close()


def person_of(browser: Browser, service: Service, variant: Variant) -> Person:
    """Return a new person with a browser."""
    return Person(
        browser,
        service.base,
        language=variant.language,
        width=variant.width,
        has_scripts=variant.has_scripts,
        has_pointer=variant.has_pointer,
    )


def line_of(repo: GitRepo, start: str) -> str:
    """Return the line of the page that starts with a text."""
    return next(line for line in repo.show(FILE).decode().splitlines() if line.startswith(start))


def source_author(connected: Repository) -> str:
    """Return the author and co-authors of the last commit."""
    return connected.repo.text("log", "-1", "--format=%an %b", "main")
