"""Sessions of an editor in Chromium on three kinds of sites: each commit contains the edited lines and no others.

`GALLEY_SITES` names a folder with checkouts of public repositories in `owner+name`. The same sessions then use these instead of
the generated sites, and print the seconds of each step. `GALLEY_LONG=1` runs each kind of person on each site.
"""

import os
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import islice, product
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser

from tests.serving.editor_session import EditorSession, edited_entries
from tests.serving.member import Member
from tests.serving.person import Person
from tests.serving.processes import Service, running_prepared
from tests.support.console_assets import build_assets
from tests.support.samples import editorial_sites
from tests.support.samples.gitrepo import GitRepo

FOLDER = os.environ.get("GALLEY_SITES")
INDEX_TIMEOUT_S = 300


@dataclass(frozen=True)
class EditedSite:
    """A site, the folder of its edited entries, and the features that a session must use."""

    folder: str
    features: set[str] = field(default_factory=set)
    repository: str = ""
    files: Callable[[], editorial_sites.Files] = dict

    def write(self, target: Path) -> Path:
        """Return the folder with the files of the site."""
        if self.repository:
            return Path(FOLDER or "") / self.repository
        for path, data in self.files().items():
            (target / path).parent.mkdir(parents=True, exist_ok=True)
            (target / path).write_bytes(data)
        return target


SAMPLES = {
    "hugo": EditedSite(
        "content/de/docs/", {"languages", "drafts", "date", "tags", "images"}, files=editorial_sites.hugo_documentation
    ),
    "jekyll": EditedSite("_posts/", {"date", "tags", "images"}, files=editorial_sites.jekyll_blog),
    "astro": EditedSite(
        "src/content/docs/en/", {"languages", "date", "tags", "images"}, files=editorial_sites.astro_documentation
    ),
}
PUBLIC = {
    "hugo": EditedSite("content/en/docs/", {"languages"}, "open-telemetry+opentelemetry.io"),
    "jekyll": EditedSite("en/news/_posts/", {"images"}, "ruby+www.ruby-lang.org"),
    "astro": EditedSite("src/content/docs/fr/", {"languages"}, "withastro+docs"),
}
SITES = PUBLIC if FOLDER else SAMPLES

PERSONS: dict[str, dict[str, Any]] = {
    "pointer": {},
    "keyboard": {"has_pointer": False},
    "narrow": {"width": 390},
    "Arabic": {"language": "ar"},
    "dark": {"theme": "dark"},
    "no-scripts": {"has_scripts": False},
}
ALL = list(product(PERSONS, SITES))
SELECTED = [
    *(("pointer", "hugo"), ("keyboard", "jekyll"), ("narrow", "astro")),
    *(("Arabic", "hugo"), ("dark", "jekyll"), ("no-scripts", "hugo")),
]


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    build_assets()
    with running_prepared(tmp_path_factory.mktemp("sessions")) as service:
        yield service


@pytest.fixture(scope="module")
def projects(service: Service, tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[str, GitRepo]]:
    """Return the URL and the repository of each site. The index of the sites is complete."""
    owner, connected = Member(service), {}
    for name, site in SITES.items():
        project = owner.connect(site.write(tmp_path_factory.mktemp(name)), name)
        wait_for_index(owner, project, site.folder)
        [path] = (service.home / "instance").rglob(f"{name}.git")
        connected[name] = f"/console/projects/{project}", GitRepo.existing(path)
    return connected


def wait_for_index(owner: Member, project: str, folder: str) -> None:
    """Wait until a job has read all files of a project."""
    url = f"{owner.service.base}/api/v1/project-content/{project}/entries?folder={folder.rstrip('/')}"
    deadline = time.monotonic() + INDEX_TIMEOUT_S
    while not owner.send("GET", url, None, {"Accept": "application/json"}).json()["meta"]["complete"]:
        assert time.monotonic() < deadline, "the index is not complete"
        time.sleep(0.2)


@pytest.mark.server
@pytest.mark.slow
@pytest.mark.parametrize(("kind", "name"), ALL if os.environ.get("GALLEY_LONG") else SELECTED)
def test_session_of_an_editor_changes_only_the_edited_lines(
    service: Service, projects: dict[str, tuple[str, GitRepo]], browser: Browser, kind: str, name: str
) -> None:
    url, repo = projects[name]
    password = (service.home / "instance" / "demo_password").read_text().strip()
    person = Person(browser, service.base, **PERSONS[kind])
    number = list(PERSONS).index(kind)
    entry = next(islice(edited_entries(repo, SITES[name].folder), number, None))
    title = "رسالة من الميناء" if person.language == "ar" else f"Letter of the {kind} person"
    session = EditorSession(person, password, url, repo, entry, title)
    session.run()
    assert session.features >= SITES[name].features
    print(f"{kind}, {name}: {entry.path}, {sum(session.times.values()):.0f} s, {session.times}")
    person.context.close()
