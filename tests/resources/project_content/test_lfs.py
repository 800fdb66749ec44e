"""Tests of saves of files that `.gitattributes` sends to Git LFS: they are refused with a sentence."""

from typing import Any

import pytest
import sqlalchemy as sa

from app.content.git_attributes import POINTER
from app.database import transactions
from app.extensions import db
from app.models.project_content import ContentFile
from app.resources.project_content.saving.commits import MAX_ATTRIBUTES_BYTES, StoredInLfs
from tests.resources.project_content.conftest import POST, Site, make_site
from tests.support.world import World

RULES = b"*.png filter=lfs diff=lfs merge=lfs -text\ndocs/*.md filter=lfs\n"
FILES = {
    ".gitattributes": RULES,
    "a.md": POST,
    "old.png": POINTER + b"oid sha256:0\nsize 1\n",
    "docs/b.md": POST,
}


@pytest.fixture
def site(world: World) -> Site:
    return make_site(world, FILES)


def create(path: str, content: str = "aGVsbG8=") -> dict[str, Any]:
    return {"path": path, "action": "create", "content": content, "encoding": "base64"}


@pytest.mark.parametrize(
    "file",
    [
        create("static/a.png"),
        {"path": "old.png", "action": "update", "content": "text"},
        {"path": "docs/a.md", "action": "move", "previous_path": "a.md"},
        {"path": "docs/a.md", "action": "move", "previous_path": "a.md", "content": "text"},
        {"path": "b.md", "action": "move", "previous_path": "docs/b.md"},
    ],
)
@pytest.mark.parametrize("on_conflict", ["refuse", "merge"])
def test_file_of_lfs_is_refused(site: Site, file: dict[str, Any], on_conflict: str) -> None:
    before = site.repo.head()
    body = {"message": "Edit", "base_sha": before, "files": [create("c.bin"), file], "on_conflict": on_conflict}
    refused = site.owner.post(site.path("/commit"), body).fails(422, "REFUSED", file["path"])
    assert str(StoredInLfs.message) in str(refused)
    assert site.repo.head() == before


def test_front_matter_of_a_file_of_lfs_is_refused(site: Site) -> None:
    body = {"file": "docs/b.md", "base_sha": site.repo.head(), "set": {"title": "New"}}
    site.owner.patch(site.path("/front-matter"), body).fails(422, "REFUSED", "docs/b.md")


def test_branch_without_an_index_has_the_rules_of_the_working_branch(site: Site) -> None:
    site.repo.git("branch", "other", "main")
    body = {"message": "Edit", "base_sha": site.repo.head(), "branch": "other", "files": [create("a.png")]}
    site.owner.post(site.path("/commit"), body).fails(422, "REFUSED", "a.png")


def test_rules_of_a_host_without_sizes_are_read(site: Site) -> None:
    with site.world.app.app_context(), transactions.write_transaction():
        db.session.execute(sa.update(ContentFile).values(size=None))
    site.commit(create("a.png")).fails(422, "REFUSED", "a.png")


def test_missing_rules_are_ignored(site: Site) -> None:
    """The index can be older than the branch, whose previous commits were removed."""
    with site.world.app.app_context(), transactions.write_transaction():
        db.session.execute(sa.update(ContentFile).where(ContentFile.path == ".gitattributes").values(sha="0" * 40))
    site.commit(create("a.png")).ok(201)


@pytest.mark.parametrize(
    "file",
    [
        create("static/a.jpg"),
        {"path": "new.png", "action": "create", "content": f"{POINTER.decode()}oid sha256:0\nsize 1\n"},
        {"path": "moved.png", "action": "move", "previous_path": "old.png"},
        {"path": "old.png", "action": "delete"},
    ],
)
def test_plain_file_pointer_and_deletion_are_saved(site: Site, file: dict[str, Any]) -> None:
    site.commit(file).ok(201)


def test_rules_that_are_too_large_are_ignored(world: World) -> None:
    site = make_site(world, {".gitattributes": RULES + b"#" * MAX_ATTRIBUTES_BYTES})
    site.commit(create("a.png")).ok(201)


def test_save_of_many_deep_paths_reads_few_folders(site: Site) -> None:
    """The names of all attribute files above these paths would be more than a statement can have values."""
    site.commit(*[create(f"{number}/{'a/' * 225}b.txt") for number in range(300)]).ok(201)
