"""Tests of branch updates with abandoned and active lock files."""

import os
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from app.drivers.git.local.commands import GitStatusUnknown
from app.drivers.git.local.processes import ProcessPool
from app.drivers.git.local.refs import NOTHING, default_branch, move
from tests.support.samples.gitrepo import GitRepo

Moved = Callable[..., bool]


def updaters() -> list[psutil.Process]:
    return [child for child in psutil.Process().children() if "update-ref" in child.cmdline()]


@pytest.fixture
def repo(tmp_path: Path) -> GitRepo:
    return GitRepo(tmp_path / "r.git", {"a.md": b"a"})


@pytest.fixture
def moved(repo: GitRepo) -> Iterator[Moved]:
    """Return a function that moves a branch with the processes of one pool."""
    processes = ProcessPool(timeout_s=10)

    def call(new: str, old: str, branch: str = "main") -> bool:
        return move(processes, repo.folder, branch, new, old, head=lambda: repo.text("rev-parse", branch))

    yield call
    processes.close()


class TestMove:
    def test_move_changes_the_branch_only_from_the_expected_commit(self, repo: GitRepo, moved: Moved) -> None:
        old = repo.head()
        new = repo.commit({"b.md": b"b"}, branch="other", start=old)
        assert moved(new, old)
        assert not moved(old, old)
        assert repo.head() == new

    def test_move_from_nothing_creates_a_branch_once(self, repo: GitRepo, moved: Moved) -> None:
        assert moved(repo.head(), NOTHING, "work/one")
        assert not moved(repo.head(), NOTHING, "work/one")

    @pytest.mark.parametrize("name", ["refs/heads/main.lock", "HEAD.lock"])
    def test_move_removes_an_old_lock(self, repo: GitRepo, moved: Moved, name: str) -> None:
        old = repo.head()
        new = repo.commit({"b.md": b"b"}, branch="other", start=old)
        lock = repo.folder / name
        lock.touch()
        os.utime(lock, (time.time() - 60,) * 2)
        assert moved(new, old)
        assert not lock.exists()

    def test_deletion_removes_an_old_lock_of_the_packed_refs(self, repo: GitRepo, moved: Moved) -> None:
        repo.git("branch", "other")
        lock = repo.folder / "packed-refs.lock"
        lock.touch()
        os.utime(lock, (time.time() - 120,) * 2)
        assert moved(NOTHING, repo.head(), "other")
        assert not lock.exists()

    def test_move_waits_for_a_recent_lock(self, repo: GitRepo, moved: Moved) -> None:
        old = repo.head()
        new = repo.commit({"b.md": b"b"}, branch="other", start=old)
        lock = repo.folder / "refs/heads/main.lock"
        lock.touch()
        release = threading.Timer(1.5, lock.unlink)
        release.start()
        began_s = time.monotonic()
        assert moved(new, old)
        release.join()
        assert time.monotonic() - began_s > 1


class TestUpdateProcess:
    def test_moves_of_one_repository_use_one_process(self, repo: GitRepo, moved: Moved) -> None:
        first = repo.head()
        second = repo.commit({"b.md": b"b"}, branch="other", start=first)
        known = set(updaters())
        for old, new in [(first, second), (second, first)] * 5:
            assert moved(new, old)
            assert len(set(updaters()) - known) == 1

    def test_killed_process_is_replaced(self, repo: GitRepo, moved: Moved) -> None:
        first, known = repo.head(), set(updaters())
        second = repo.commit({"b.md": b"b"}, branch="other", start=first)
        assert moved(second, first)
        [process] = set(updaters()) - known
        process.kill()
        process.wait(5)
        assert moved(first, second)

    def test_move_after_a_push_and_a_repack_uses_the_present_branch(self, repo: GitRepo, moved: Moved) -> None:
        first = repo.head()
        second = repo.commit({"b.md": b"b"}, branch="other", start=first)
        assert moved(second, first)
        third = repo.commit({"c.md": b"c"}, start=second)
        repo.git("pack-refs", "--all", "--prune")
        repo.git("repack", "-a", "-d", "-q")
        assert not moved(first, second)
        assert moved(second, third)
        assert repo.head() == second

    def test_process_that_ends_without_a_status_raises_status_unknown(
        self, repo: GitRepo, moved: Moved, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        head = repo.head()
        (tmp_path / "git").write_text("#!/bin/sh\nread line\nkill -9 $$\n")
        (tmp_path / "git").chmod(0o755)
        monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
        with pytest.raises(GitStatusUnknown):
            moved(head, NOTHING, "other")


class TestDefaultBranch:
    def test_default_branch_is_that_of_head(self, repo: GitRepo) -> None:
        repo.git("symbolic-ref", "HEAD", "refs/heads/trunk/x")
        assert default_branch(repo.folder) == "trunk/x"

    def test_default_branch_with_a_detached_head_is_main(self, repo: GitRepo) -> None:
        repo.git("update-ref", "--no-deref", "HEAD", repo.head())
        assert default_branch(repo.folder) == "main"
