"""Tests of branch updates with abandoned and active lock files."""

import os
import threading
import time
from pathlib import Path

import pytest

from app.drivers.git.local.refs import NOTHING, default_branch, move
from tests.support.samples.gitrepo import GitRepo


@pytest.fixture
def repo(tmp_path: Path) -> GitRepo:
    return GitRepo(tmp_path / "r.git", {"a.md": b"a"})


def moved(repo: GitRepo, new: str, old: str, branch: str = "main") -> bool:
    return move(repo.folder, branch, new, old, head=lambda: repo.text("rev-parse", branch), timeout_s=10)


class TestMove:
    def test_move_changes_the_branch_only_from_the_expected_commit(self, repo: GitRepo) -> None:
        old = repo.head()
        new = repo.commit({"b.md": b"b"}, branch="other", start=old)
        assert moved(repo, new, old)
        assert not moved(repo, old, old)
        assert repo.head() == new

    def test_move_from_nothing_creates_a_branch_once(self, repo: GitRepo) -> None:
        assert moved(repo, repo.head(), NOTHING, "work/one")
        assert not moved(repo, repo.head(), NOTHING, "work/one")

    @pytest.mark.parametrize("name", ["refs/heads/main.lock", "HEAD.lock"])
    def test_move_removes_an_old_lock(self, repo: GitRepo, name: str) -> None:
        old = repo.head()
        new = repo.commit({"b.md": b"b"}, branch="other", start=old)
        lock = repo.folder / name
        lock.touch()
        os.utime(lock, (time.time() - 60,) * 2)
        assert moved(repo, new, old)
        assert not lock.exists()

    def test_move_waits_for_a_recent_lock(self, repo: GitRepo) -> None:
        old = repo.head()
        new = repo.commit({"b.md": b"b"}, branch="other", start=old)
        lock = repo.folder / "refs/heads/main.lock"
        lock.touch()
        release = threading.Timer(1.5, lock.unlink)
        release.start()
        began_s = time.monotonic()
        assert moved(repo, new, old)
        release.join()
        assert time.monotonic() - began_s > 1


class TestDefaultBranch:
    def test_default_branch_is_that_of_head(self, repo: GitRepo) -> None:
        repo.git("symbolic-ref", "HEAD", "refs/heads/trunk/x")
        assert default_branch(repo.folder) == "trunk/x"

    def test_default_branch_with_a_detached_head_is_main(self, repo: GitRepo) -> None:
        repo.git("update-ref", "--no-deref", "HEAD", repo.head())
        assert default_branch(repo.folder) == "main"
