"""Tests of indexes and pages of repositories with missing or damaged objects."""

import shutil
from collections.abc import Callable
from typing import Any

import pytest

from tests.drivers.git.local.test_damage import DAMAGES, TEXT, loose_path
from tests.resources.project_content.conftest import Site, make_site
from tests.support.git_command import run_git
from tests.support.samples.gitrepo import GitRepo
from tests.support.world import World

FILES = {"hugo.toml": b"", "content/a.md": b"---\ntitle: A\n---\nfindme\n", "content/b.md": TEXT, "z/c.md": b"c\n"}
Damage = Callable[[GitRepo, str], None]


@pytest.fixture
def damaged(world: World) -> Callable[[Damage, str], Site]:
    """Return a function that damages one object of a project before its first index."""

    def make(damage: Damage, name: str) -> Site:
        site = make_site(world, FILES, indexed=False)
        unpack(site.repo)
        damage(site.repo, site.repo.text("rev-parse", name))
        world.work_off()
        return site

    return make


def unpack(repo: GitRepo) -> None:
    """Store each object as a loose file."""
    packed = repo.git("pack-objects", "--all", "--stdout", "-q")
    shutil.rmtree(repo.folder / "objects/pack", ignore_errors=True)
    for folder in (repo.folder / "objects").glob("??"):
        shutil.rmtree(folder)
    repo.git("unpack-objects", "-q", data=packed)


def search(site: Site) -> Any:
    return [hit["path"] for hit in site.owner.get(site.path("/search?q=findme")).ok()]


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=list(DAMAGES))
class TestUnreadable:
    def test_unreadable_file_is_named_and_others_are_indexed(
        self, damaged: Callable[[Damage, str], Site], damage: Damage
    ) -> None:
        site = damaged(damage, "main:content/b.md")
        tree = site.tree()
        assert (tree["status"], tree["total"], tree["unreadable"]) == ("ready", 4, ["content/b.md"])
        assert search(site) == ["content/a.md"]
        metadata = site.owner.get(site.path("/file"), query_string={"file": "content/b.md"}).ok()
        assert (metadata["unreadable"], metadata["title"]) == (True, None)
        assert not site.owner.get(site.path("/file"), query_string={"file": "content/a.md"}).ok()["unreadable"]
        site.owner.get(site.path("/raw"), query_string={"file": "content/b.md"}).fails(503, "REPOSITORY_DAMAGED")
        shown = site.owner.client.get(f"/console/projects/{site.project}/content/content").text
        assert "content/b.md. Ask the operator" in shown
        assert "still being read" not in shown

    def test_unreadable_folder_is_named_and_others_are_indexed(
        self, damaged: Callable[[Damage, str], Site], damage: Damage
    ) -> None:
        site = damaged(damage, "main:z")
        tree = site.tree()
        assert (tree["status"], tree["total"], tree["unreadable"]) == ("ready", 3, ["z/"])
        assert search(site) == ["content/a.md"]

    def test_branch_with_an_unreadable_commit_is_503(
        self, damaged: Callable[[Damage, str], Site], damage: Damage
    ) -> None:
        site = damaged(damage, "main")
        assert site.tree()["status"] == "failed"
        site.commit({"path": "n.md", "action": "create", "content": "n"}).fails(503, "REPOSITORY_DAMAGED")

    def test_unreadable_parent_does_not_stop_the_index(self, world: World, damage: Damage) -> None:
        site = make_site(world, FILES, indexed=False)
        site.repo.commit({"n.md": b"n"})
        unpack(site.repo)
        damage(site.repo, site.repo.text("rev-parse", "main^"))
        world.work_off()
        assert (site.tree()["status"], site.tree()["total"], search(site)) == ("ready", 5, ["content/a.md"])


class TestRepair:
    def test_reindex_of_a_repaired_repository_clears_the_marks(self, damaged: Callable[[Damage, str], Site]) -> None:
        lost: dict[str, bytes] = {}

        def take(repo: GitRepo, sha: str) -> None:
            lost[sha] = loose_path(repo, sha).read_bytes()
            loose_path(repo, sha).unlink()

        site = damaged(take, "main:content/a.md")
        assert (site.tree()["unreadable"], search(site)) == (["content/a.md"], [])
        saved = site.commit({"path": "n.md", "action": "create", "content": "n"}).ok(201)
        site.world.work_off()
        assert (site.tree()["unreadable"], site.tree()["commit_sha"]) == (["content/a.md"], saved["commit_sha"])
        [(sha, content)] = lost.items()
        loose_path(site.repo, sha).parent.mkdir(exist_ok=True)
        loose_path(site.repo, sha).write_bytes(content)
        site.owner.post(site.path("/reindex"), {}).ok(202)
        site.world.work_off()
        assert (site.tree()["unreadable"], search(site)) == ([], ["content/a.md"])

    def test_replacement_of_the_file_clears_its_mark(self, damaged: Callable[[Damage, str], Site]) -> None:
        site = damaged(DAMAGES["missing"], "main:content/b.md")
        site.commit({"path": "content/b.md", "action": "update", "content": "new"}).ok(201)
        site.world.work_off()
        assert site.tree()["unreadable"] == []


def test_partial_clone_is_indexed_with_unreadable_files(world: World) -> None:
    site = make_site(world, FILES, indexed=False)
    target = site.repo.folder
    source = target.with_name("source")
    target.rename(source)
    run_git(source, "config", "uploadpack.allowFilter", "true")
    done = run_git(source, "clone", "-q", "--bare", "--filter=blob:none", f"file://{source}", str(target))
    assert done.returncode == 0, done.stderr
    world.work_off()
    tree = site.tree()
    assert (tree["status"], tree["total"], tree["unreadable"]) == ("ready", 4, sorted(FILES))
    assert "still being read" not in site.owner.client.get(f"/console/projects/{site.project}/content/").text
