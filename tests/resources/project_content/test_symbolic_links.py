"""Tests of symbolic links: no way to save writes the text of a page into a link."""

from typing import Any

import pytest

from tests.resources.project_content.conftest import POST, Site, make_site
from tests.support.samples.gitrepo import SYMLINK
from tests.support.world import World

pytestmark = pytest.mark.one_database

FILES = {
    "docs/real.md": POST,
    "link.md": (SYMLINK, b"docs/real.md"),
    "folder": (SYMLINK, b"docs"),
    "outside.md": (SYMLINK, b"../../etc/passwd"),
}


@pytest.fixture
def site(world: World) -> Site:
    return make_site(world, FILES)


@pytest.mark.parametrize(
    "file",
    [
        {"path": "link.md", "action": "update", "content": "text\n"},
        {"path": "outside.md", "action": "update", "content": "text\n"},
        {"path": "new.md", "action": "move", "previous_path": "link.md", "content": "text\n"},
    ],
)
def test_commit_to_a_link_returns_422(site: Site, file: dict[str, Any]) -> None:
    before = site.repo.head()
    site.commit(file).fails(422, "CANNOT_KEEP", file.get("previous_path", file["path"]))
    assert site.repo.head() == before


@pytest.mark.parametrize("path", ["folder/new.md", "link.md/new.md"])
def test_new_file_below_a_link_returns_409(site: Site, path: str) -> None:
    before = site.repo.head()
    site.commit({"path": path, "action": "create", "content": "text\n"}).fails(409, "CONFLICT", path)
    assert site.repo.head() == before


def test_front_matter_of_a_link_returns_422(site: Site) -> None:
    before = site.repo.head()
    body = {"file": "link.md", "base_sha": before, "set": {"title": "New"}}
    site.owner.patch(site.path("/front-matter"), body).fails(422, "CANNOT_KEEP")
    assert site.repo.head() == before


@pytest.mark.parametrize("is_link_now", [True, False])
def test_restore_of_a_link_returns_422(site: Site, is_link_now: bool) -> None:
    first = site.repo.head()
    site.repo.commit({"link.md": (SYMLINK, b"folder/real.md") if is_link_now else b"# Page\n"})
    before = site.repo.head()
    body = {"file": "link.md", "commit_sha": first, "base_sha": before}
    site.owner.post(site.path("/restore"), body).fails(422, "CANNOT_RESTORE")
    assert site.repo.head() == before


def test_link_is_moved_and_deleted_as_a_link(site: Site) -> None:
    site.commit({"path": "moved.md", "action": "move", "previous_path": "link.md"}).ok(201)
    assert SYMLINK in site.repo.entries()["moved.md"]
    site.commit({"path": "moved.md", "action": "delete"}).ok(201)
    assert "moved.md" not in site.repo.entries()
    assert site.repo.show("docs/real.md") == POST


def test_editor_of_a_link_leads_to_the_file(site: Site) -> None:
    base = f"/console/projects/{site.project}/edit"
    shown = site.owner.client.get(f"{base}/link.md").text
    assert f'href="{base}/docs/real.md"' in shown
    assert "editor-form" not in shown
    assert "Edit “" not in site.owner.client.get(f"{base}/outside.md").text
