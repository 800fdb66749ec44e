"""Tests of the objects of new commits: Git reads them, and a failure leaves no files."""

import os
import random
import zlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from app.drivers.errors import UpstreamError
from app.drivers.git.commit_plan import CommitPlan, FileWrite
from app.drivers.git.errors import RepositoryDamaged
from app.drivers.git.local.new_commit import (
    MAX_LOOSE,
    CommitIdentity,
    NewCommit,
    Parents,
    TreeEdit,
    create_commit,
    write_objects,
)
from app.drivers.git.local.processes import CatFiles, ProcessPool
from app.drivers.git.local.trees import LocalTree
from app.drivers.git.object_ids import new_object
from app.drivers.git.port import Person
from tests.support.samples.gitrepo import AWKWARD, FILE, GitRepo

ADA = Person("Ada", "ada@mail.example.org")
MANY = 3 * MAX_LOOSE


@pytest.fixture
def repo(tmp_path: Path) -> GitRepo:
    return GitRepo(tmp_path / "r.git", AWKWARD)


@pytest.fixture
def objects() -> Iterator[CatFiles]:
    processes = ProcessPool(timeout_s=10)
    yield CatFiles(processes)
    processes.close()


def files_of(repo: GitRepo) -> set[str]:
    folder = repo.folder / "objects"
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}


def write(repo: GitRepo, objects: CatFiles, files: dict[str, bytes], removed: tuple[str, ...] = ()) -> NewCommit:
    """Create a commit on the head and move the branch to it."""
    head = repo.head()
    plan = CommitPlan(removed, tuple(FileWrite(path, FILE, content) for path, content in files.items()))
    parents = Parents((head,), LocalTree(objects, repo.folder, head))
    created = create_commit(repo.folder, plan, "Change", CommitIdentity(ADA, ADA), parents=parents)
    repo.git("update-ref", "refs/heads/main", created.sha, head)
    return created


class TestWriteObjects:
    @pytest.mark.parametrize("count", [1, MAX_LOOSE, MAX_LOOSE + 1, 2_000])
    def test_written_objects_are_read_by_git(self, repo: GitRepo, count: int) -> None:
        dice, before = random.Random(count), files_of(repo)
        contents = [dice.randbytes(dice.choice((15, 16, 2_047, 2_048, 40_000))) for _ in range(count)]
        written = [new_object("blob", content) for content in contents]
        write_objects(repo.folder, [*written, written[0]])
        for each in dice.sample(written, min(count, 40)):
            assert repo.git("cat-file", "blob", each.sha) == each.content
        new = files_of(repo) - before
        assert len(new) == (count if count <= MAX_LOOSE else 2)
        assert {(repo.folder / "objects" / name).stat().st_mode & 0o777 for name in new} == {0o444}
        for name in new:
            if name.endswith(".idx"):
                assert b"ok" in repo.git("verify-pack", "-v", str(repo.folder / "objects" / name))
        repo.git("fsck", "--strict")

    def test_object_of_three_hundred_megabytes_has_a_valid_header(self, repo: GitRepo) -> None:
        large = new_object("blob", bytes(300 << 20))
        write_objects(repo.folder, [large, *(new_object("blob", b"%d" % n) for n in range(MANY))])
        assert repo.text("cat-file", "-s", large.sha) == str(300 << 20)

    def test_existing_object_is_kept_and_its_time_renewed(self, repo: GitRepo) -> None:
        one = new_object("blob", b"content")
        write_objects(repo.folder, [one])
        path = repo.folder / "objects" / one.sha[:2] / one.sha[2:]
        number = path.stat().st_ino
        os.utime(path, (1_000_000_000, 1_000_000_000))
        write_objects(repo.folder, [one])
        assert path.stat().st_ino == number
        assert path.stat().st_mtime > 1_600_000_000

    @pytest.mark.parametrize("damage", [b"", b"\x78\x01 not complete", zlib.compress(b"blob 5\0other")])
    def test_damaged_object_is_written_again(self, repo: GitRepo, damage: bytes) -> None:
        one = new_object("blob", b"content")
        write_objects(repo.folder, [one])
        path = repo.folder / "objects" / one.sha[:2] / one.sha[2:]
        path.chmod(0o644)
        path.write_bytes(damage)
        write_objects(repo.folder, [one])
        assert repo.git("cat-file", "blob", one.sha) == b"content"

    @pytest.mark.parametrize("count", [2, MANY])
    def test_failed_commit_raises_upstream_error_and_leaves_no_files(
        self, repo: GitRepo, objects: CatFiles, count: int, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        before, head = files_of(repo), repo.head()

        def fail(_descriptor: int) -> None:
            raise OSError(5, "Input/output error")

        monkeypatch.setattr(os, "fsync", fail)
        with pytest.raises(UpstreamError):
            write(repo, objects, {f"{n}.md": b"%d" % n for n in range(count)})
        assert files_of(repo) == before
        assert repo.head() == head


class TestTreeEdit:
    def test_tree_of_random_changes_equals_the_tree_of_git(self, tmp_path: Path, objects: CatFiles) -> None:
        dice, repo = random.Random(4), GitRepo(tmp_path / "t.git", {"a.md": b"a", "a/x": b"x", "a0/y/z": b"z"})
        names = ("a", "a.md", "a0", "b", "é", "z-")
        for _ in range(40):
            present = sorted(repo.entries())
            gone = tuple(dice.sample(present, dice.randrange(len(present))))
            remaining = set(present) - set(gone)
            new = dict[str, bytes]()
            for _ in range(dice.randrange(1, 5)):
                path = "/".join(dice.choices(names, k=dice.randrange(1, 5)))
                others = remaining | new.keys()
                if not any(f"{path}/".startswith(f"{other}/") or other.startswith(f"{path}/") for other in others):
                    new[path] = dice.randbytes(8)
            expected = {path: repo.show(path) for path in remaining} | new
            write(repo, objects, new, gone)
            assert {path: repo.show(path) for path in repo.entries()} == expected
            index = GitRepo(tmp_path / f"{len(list(tmp_path.iterdir()))}.git", expected or None)
            if expected:
                assert repo.text("rev-parse", "main^{tree}") == index.text("rev-parse", "main^{tree}")
        repo.git("fsck", "--strict")

    def test_unchanged_entries_keep_their_bytes(self, repo: GitRepo, objects: CatFiles) -> None:
        before = repo.entries()
        write(repo, objects, {"unicode/new.md": b"new", "new/a/b.md": b"b"})
        after = repo.entries()
        assert {path: entry for path, entry in after.items() if path in before} == before
        assert set(after) - set(before) == {"unicode/new.md", "new/a/b.md"}
        repo.check()

    def test_tree_without_files_is_the_empty_tree(self, repo: GitRepo, objects: CatFiles) -> None:
        edit = TreeEdit(LocalTree(objects, repo.folder, repo.head()))
        for path in repo.entries():
            edit.remove(path)
        assert [each.content for each in edit.objects()] == [b""]

    def test_damaged_tree_raises_repository_damaged(self, repo: GitRepo, objects: CatFiles) -> None:
        data = b"100644 a\0" + bytes(20) + b"9 b\0" + bytes(20)
        tree = repo.git("hash-object", "-t", "tree", "-w", "--stdin", "--literally", data=data).decode().strip()
        with pytest.raises(RepositoryDamaged):
            LocalTree(objects, repo.folder, tree)
