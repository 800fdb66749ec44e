"""Tests of local repositories on a full disk. They need the permission to mount a small file system."""

from pathlib import Path

import pytest

from app.drivers.errors import UpstreamUnavailable
from app.drivers.git.local.commands import DiskFull
from app.drivers.git.local.processes import ProcessPool
from app.drivers.git.local.provider import LocalGit
from app.drivers.git.local.refs import move
from app.drivers.git.port import Action, FileChange, Person
from tests.faults.small_disk import SmallDisk
from tests.support.samples.gitrepo import GitRepo

REPO = "team/new"


def test_commit_on_a_full_disk_raises_unavailable_and_keeps_the_branch(tmp_path: Path) -> None:
    source = tmp_path / "source"
    source.mkdir()
    (source / "a.md").write_bytes(b"first\n")
    with SmallDisk(tmp_path / "disk", size_mib=8) as disk:
        git = LocalGit(disk.folder, bot=Person("Galley Bot", "bot@mail.example.org"))
        git.create("team/new", source=source)
        head = git.open(REPO).head("main")
        change = FileChange("b.md", Action.CREATE, b"x" * 100_000)
        with disk.full(), pytest.raises(UpstreamUnavailable):
            git.open(REPO).commit("main", [change], "Add a file", expected_head=head)
        assert git.open(REPO).head("main") == head
        git.open(REPO).commit("main", [change], "Add a file", expected_head=head)
        git.close()


def test_move_of_a_branch_on_a_full_disk_raises_unavailable_at_once(tmp_path: Path) -> None:
    with SmallDisk(tmp_path / "disk", size_mib=8) as disk:
        repo = GitRepo(disk.folder / "r.git", {"a.md": b"a"})
        old = repo.head()
        new = repo.commit({"b.md": b"b"}, branch="other", start=old)
        processes = ProcessPool(timeout_s=10)
        with disk.full(), pytest.raises(DiskFull):
            move(processes, repo.folder, "main", new, old, head=repo.head)
        assert move(processes, repo.folder, "main", new, old, head=repo.head)
        processes.close()
