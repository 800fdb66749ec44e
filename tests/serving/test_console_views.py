"""The main views of the console with a site of many entries: no horizontal scrolling, no error, no refused resource.

`GALLEY_SCREENSHOTS=FOLDER` writes each view in both sizes and themes. `GALLEY_WRITE_DOCS=1` writes the pictures of the documentation.
"""

import io
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from PIL import Image
from playwright.sync_api import Browser, expect

from tests.serving.member import Member
from tests.serving.processes import ROOT
from tests.serving.test_console_screens import Console, Theme, running_console
from tests.support.samples.editorial_sites import hugo_documentation, jekyll_blog
from tests.support.samples.gitrepo import GitRepo

SETTLE_MS = 600
"""The images of a picture are loaded after this time."""

PAGE = "content/en/docs/setup/install-the-tide-gauge.md"
PICTURES = ROOT / "docs" / "screenshots" / "console"
WIDE, NARROW = {"width": 1440, "height": 900}, {"width": 390, "height": 844}
SIZES = {"wide": WIDE, "narrow": NARROW}
THEMES: tuple[Theme, ...] = ("light", "dark")
DOCUMENTED = {
    "home": ("wide", "light"),
    "list": ("wide", "light"),
    "grid": ("wide", "dark"),
    "editor-preview": ("wide", "light"),
    "editor-source": ("wide", "dark"),
    "new-entry": ("wide", "light"),
    "media": ("wide", "light"),
    "history": ("wide", "light"),
    "conflict": ("wide", "light"),
    "palette": ("wide", "dark"),
    "fields": ("narrow", "light"),
    "preview": ("wide", "light"),
    "changes": ("wide", "light"),
    "change-set": ("wide", "light"),
    "schedule": ("narrow", "dark"),
}
"""The size and theme of each picture of the documentation."""

SETS = ("Letters of the autumn", "New times of the ferry", "Bread on Fridays", "Tides of the spring")
ENTRY_EDITS = (
    ("Correct the time of the ferry", "twice a day", "three times a day"),
    ("Mention the bread of the island", "before *seven*", "before *seven*, and rye on Fridays"),
)


@pytest.fixture(scope="module")
def console(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Console]:
    with running_console(browser, tmp_path_factory.mktemp("views")) as console:
        console.sign_in()
        yield console


def connect(console: Console, files: dict[str, bytes], name: str, folder: Path) -> tuple[str, GitRepo]:
    """Connect a site and return the URL of its project and its repository. The title of the site is the project's name."""
    title, owner = name.replace("-", " ").capitalize(), Member(console.service)
    for path, data in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(data)
    project = owner.connect(folder, name)
    owner.call(f"/api/v1/project/{project}", {"project_name": title}, method="PATCH")
    [path] = (console.service.home / "instance").rglob(f"{name}.git")
    return f"/console/projects/{project}", GitRepo.existing(path)


def views(console: Console, blog: str, repo: GitRepo, documentation: str) -> Iterator[str]:
    """Open each view and yield its name."""
    page = console.page
    path = sorted(each for each in repo.entries() if each.startswith("_posts/"))[-3]
    for message, old, new in ENTRY_EDITS:
        repo.commit({path: repo.show(path).replace(old.encode(), new.encode())}, message)
    while page.locator("#rows tr").count() < 100 or page.get_by_text("still being read").count():
        console.open(f"{blog}/collections/posts")
    yield "list"
    console.open(f"{blog}/collections/posts?view=grid")
    yield "grid"
    page.locator("[data-new-entry]").first.click()
    page.get_by_label("Title").fill("Letter from the quay")
    page.locator("[name=name][placeholder=letter-from-the-quay]").wait_for()
    yield "new-entry"
    console.open(f"{blog}/edit/{path}", ".ProseMirror")
    yield "editor"
    console.open(f"{blog}/edit/{path}?panel=fields", ".ProseMirror")
    yield "fields"
    console.open(f"{blog}/edit/{path}?mode=source", ".cm-content")
    yield "editor-source"
    console.open(f"{blog}/history/{path}")
    yield "history"
    console.open(f"{blog}/edit/{path}", ".ProseMirror")
    page.locator(".ProseMirror > p").first.click()
    page.keyboard.press("End")
    page.keyboard.type(" We came back twice.")
    page.get_by_text("Draft stored").wait_for()
    repo.commit({path: repo.show(path).replace(b"<!--more-->", b"It was March.\n\n<!--more-->", 1)}, "Add the month")
    text = repo.show(path).decode()
    first = text.partition("---\n\n")[2].partition("\n")[0]
    repo.commit({path: text.replace(first, f"{first} It rained.").encode()}, "Describe the weather")
    console.open(f"{blog}/conflict/{path}")
    yield "conflict"
    console.open(f"{blog}/media")
    yield "media"
    page.keyboard.press("Control+k")
    page.get_by_role("combobox", name="Search and commands").fill("lighthouse")
    page.locator("[role=option]").nth(4).wait_for()
    yield "palette"
    console.open(f"{blog}/settings")
    yield "settings"
    yield from change_sets(console, blog, repo)
    console.open("/console")
    expect(page.locator("main .list a").first).not_to_contain_text("_posts")
    yield "home"
    console.open(f"{documentation}/preview")
    page.get_by_role("button", name="Start the preview").click()
    expect(page.locator(".preview-frame")).to_be_visible()
    yield "preview"
    console.resize(WIDE, "light")
    console.open(f"{documentation}/edit/{PAGE}?panel=preview", ".ProseMirror")
    expect(page.frame_locator("iframe[data-preview-frame]").locator("main h1")).to_be_visible()
    yield "editor-preview"


def change_sets(console: Console, blog: str, repo: GitRepo) -> Iterator[str]:
    """Create sets of changes in several states, open their pages and yield the names."""
    project, owner = blog.rpartition("/")[2], Member(console.service)
    owner.call(f"/api/v1/project/{project}", {"required_approvals": 0}, method="PATCH")
    paths, made = sorted(each for each in repo.entries() if each.startswith("_posts/")), list[str]()
    for number, title in enumerate(SETS):
        created = owner.call(
            f"/api/v1/project/{project}/change-sets", {"title": title, "description": "For the season."}
        )
        files = [
            {
                "path": path,
                "action": "update",
                "content": f"{repo.show(path).decode().rstrip()} The ferry is *on time*.\n",
            }
            for path in paths[number * 2 : number * 2 + 2]
        ]
        body = {"message": title, "base_sha": created["base_sha"], "files": files}
        owner.call(f"/api/v1/change-set/{created['id']}/commit", body)
        made.append(created["id"])
    owner.call(f"/api/v1/change-set/{made[1]}/submit", {})
    owner.call(f"/api/v1/change-set/{made[1]}/comments", {"body": "Who checks the times?", "path": paths[2]})
    time = {"wall_time": "2029-03-01T09:00", "timezone": "Europe/Berlin"}
    owner.call(f"/api/v1/change-set/{made[2]}/schedule", time, method="PUT")
    owner.call(f"/api/v1/change-set/{made[3]}/publish", {})
    console.open(f"{blog}/changes")
    yield "changes"
    console.open(f"{blog}/changes/{made[1]}")
    yield "change-set"
    console.open(f"{blog}/changes/{made[2]}/schedule")
    yield "schedule"


@pytest.mark.server
@pytest.mark.slow
def test_views_of_a_large_site_fit_both_sizes_without_an_error(console: Console, tmp_path: Path) -> None:
    blog, repo = connect(console, jekyll_blog(), "salt-and-timber", tmp_path / "blog")
    documentation, _ = connect(console, hugo_documentation(), "tidewater", tmp_path / "documentation")
    folder = os.environ.get("GALLEY_SCREENSHOTS")
    findings = {}
    for name in views(console, blog, repo, documentation):
        for size, viewport in SIZES.items():
            for theme in THEMES:
                console.resize(viewport, theme)
                findings[name, size, theme] = console.page.evaluate(
                    "[...problems, ...(document.documentElement.scrollWidth > innerWidth ? ['overflow'] : [])]"
                )
                is_documented = os.environ.get("GALLEY_WRITE_DOCS") and DOCUMENTED.get(name) == (size, theme)
                if folder or is_documented:
                    console.page.wait_for_timeout(SETTLE_MS)
                    picture = console.page.screenshot()
                if folder:
                    (Path(folder) / f"{name}-{size}-{theme}.png").write_bytes(picture)
                if is_documented:
                    Image.open(io.BytesIO(picture)).convert("RGB").quantize().save(
                        PICTURES / f"{name}.png", optimize=True
                    )
        console.resize(WIDE, "light")
    assert {name: problems for name, problems in findings.items() if problems} == {}
