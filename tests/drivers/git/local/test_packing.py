"""Tests of the packing of a repository that other processes read and write."""

import os
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from app.drivers.git.local.commands import GitFailed
from app.drivers.git.local.locks import exclusive
from app.drivers.git.local.new_commit import write_objects
from app.drivers.git.local.packing import MAX_LOOSE_OBJECTS, MAX_PACKS, loose_objects
from app.drivers.git.local.provider import LocalGit
from app.drivers.git.object_ids import GitObject, new_object
from app.drivers.git.port import Action, FileChange, Person
from tests.support.samples.gitrepo import GitRepo

REPO = "team/site"
TWO_DAYS_S, THREE_WEEKS_S = 2 * 86_400, 21 * 86_400


@pytest.fixture
def local(tmp_path: Path) -> Iterator[LocalGit]:
    provider = LocalGit(tmp_path / "git", bot=Person("Galley Bot", "bot@mail.example.org"))
    yield provider
    provider.close()


@pytest.fixture
def repo(tmp_path: Path, local: LocalGit) -> GitRepo:
    return GitRepo(tmp_path / "git/team/site.git", {"a.md": b"a\n", "docs/b.md": b"b\n"})


def loose(repo: GitRepo, count: int, *, age_s: float = 0) -> list[GitObject]:
    """Write unreferenced loose objects of an age."""
    objects = [new_object("blob", b"%d %d" % (age_s, number)) for number in range(count)]
    for start in range(0, count, 16):
        write_objects(repo.folder, objects[start : start + 16])
    if age_s:
        for item in objects:
            age(path_of(repo, item), age_s)
    return objects


def path_of(repo: GitRepo, item: GitObject) -> Path:
    return repo.folder / "objects" / item.sha[:2] / item.sha[2:]


def age(path: Path, age_s: float) -> None:
    os.utime(path, (time.time() - age_s,) * 2)


class TestNeedsPacking:
    def test_repository_above_the_number_of_loose_objects_needs_packing(self, repo: GitRepo, local: LocalGit) -> None:
        loose(repo, MAX_LOOSE_OBJECTS - loose_objects(repo.folder))
        assert not local.open(REPO).needs_packing()
        loose(repo, 1, age_s=1)
        assert local.open(REPO).needs_packing()
        assert local.open(REPO).repack()
        assert not local.open(REPO).needs_packing()

    def test_repository_above_the_number_of_packs_needs_packing(self, repo: GitRepo, local: LocalGit) -> None:
        for number in range(MAX_PACKS + 1):
            assert not local.open(REPO).needs_packing()
            write_objects(repo.folder, [new_object("blob", b"%d %d" % (number, each)) for each in range(17)])
        assert local.open(REPO).needs_packing()
        assert local.open(REPO).repack()
        assert not local.open(REPO).needs_packing()


class TestPack:
    def test_packing_deletes_only_unreferenced_objects_older_than_two_weeks(
        self, repo: GitRepo, local: LocalGit
    ) -> None:
        before = repo.entries()
        recent, [old] = loose(repo, 3, age_s=TWO_DAYS_S), loose(repo, 1, age_s=THREE_WEEKS_S)
        repo.text("config", "gc.pruneExpire", "now")
        for _ in range(2):
            assert local.open(REPO).repack()
            assert repo.entries() == before
            assert [repo.git("cat-file", "blob", item.sha) for item in recent] == [item.content for item in recent]
        assert "missing" in repo.git("cat-file", "--batch-check", data=old.sha.encode()).decode()
        assert loose_objects(repo.folder) == 0
        repo.check()

    def test_save_of_an_old_unreferenced_object_before_packing_is_complete(
        self, repo: GitRepo, local: LocalGit
    ) -> None:
        [old] = loose(repo, 1, age_s=THREE_WEEKS_S)
        change = FileChange("old.md", Action.CREATE, old.content)
        local.open(REPO).commit("main", [change], "Save", expected_head=repo.head())
        local.open(REPO).repack()
        assert repo.show("old.md") == old.content
        repo.check()

    def test_saves_and_reads_during_packing_lose_nothing(self, repo: GitRepo, local: LocalGit) -> None:
        stop, errors = threading.Event(), list[Exception]()

        def pack_repeatedly() -> None:
            number = 0
            while not stop.is_set():
                number += 1
                loose(repo, 64, age_s=THREE_WEEKS_S + number)
                try:
                    local.open(REPO).repack()
                except Exception as error:
                    errors.append(error)

        packing = threading.Thread(target=pack_repeatedly)
        packing.start()
        saved = dict[str, bytes]()
        for number in range(60):
            # The content is that of an old unreferenced object, which may be deleted at this moment.
            content = b"%d %d" % (THREE_WEEKS_S + number // 3, number % 64)
            saved[f"{number}.md"] = content
            head = local.open(REPO).head("main")
            local.open(REPO).commit(
                "main", [FileChange(f"{number}.md", Action.CREATE, content)], "m", expected_head=head
            )
            entry = local.open(REPO).entries(local.open(REPO).head("main"), [f"{number}.md"])[f"{number}.md"]
            assert local.open(REPO).blob(entry.sha, max_bytes=100) == content
        stop.set()
        packing.join()
        assert errors == []
        assert {path: repo.show(path) for path in saved} == saved
        repo.check()

    def test_second_packing_of_a_repository_at_the_same_time_does_nothing(self, repo: GitRepo, local: LocalGit) -> None:
        with exclusive(repo.folder / "objects"):
            assert not local.open(REPO).repack()
        assert local.open(REPO).repack()

    def test_leftovers_of_killed_processes_do_not_stop_packing(self, repo: GitRepo, local: LocalGit) -> None:
        local.open(REPO).repack()
        packs = repo.folder / "objects/pack"
        leftovers = [
            repo.folder / "packed-refs.lock", repo.folder / "objects/info/commit-graph.lock",
            packs / ".tmp-1-pack-1.pack", packs / "tmp_pack_1",
        ]  # fmt: skip
        current = packs / "tmp_pack_2"
        for path in (*leftovers, current):
            path.touch()
        for path in leftovers:
            age(path, TWO_DAYS_S)
        assert local.open(REPO).repack()
        assert ([path.name for path in leftovers if path.exists()], current.exists()) == ([], True)

    def test_received_objects_of_killed_pushes_are_removed(self, repo: GitRepo, local: LocalGit) -> None:
        old, current = (repo.folder / f"objects/tmp_objdir-incoming-{name}" for name in ("old", "new"))
        for folder in (old, current):
            (folder / "pack").mkdir(parents=True)
        age(old, 3_600)
        local.open(REPO).remove_leftovers()
        assert (old.exists(), current.exists()) == (False, True)

    @pytest.mark.parametrize("lost", ["refs/heads/main", "refs/heads/main^{tree}", "refs/heads/main:docs/b.md"])
    def test_packing_of_a_damaged_repository_fails_and_deletes_nothing(
        self, repo: GitRepo, local: LocalGit, lost: str
    ) -> None:
        [old] = loose(repo, 1, age_s=THREE_WEEKS_S)
        sha = repo.text("rev-parse", lost)
        path_of(repo, GitObject(sha, "", b"")).unlink()
        before = loose_objects(repo.folder)
        with pytest.raises(GitFailed):
            local.open(REPO).repack()
        assert (loose_objects(repo.folder), path_of(repo, old).exists()) == (before, True)
