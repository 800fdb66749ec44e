"""Tests of trees that are cached between the check of a save and its commit."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from app.drivers.git.local.processes import CatFiles, ProcessPool
from app.drivers.git.local.trees import MAX_NAMES, MAX_TREES, LocalTree, RecentTrees
from tests.support.samples.gitrepo import GitRepo


@pytest.fixture
def objects() -> Iterator[CatFiles]:
    processes = ProcessPool(timeout_s=10)
    yield CatFiles(processes)
    processes.close()


def test_recent_tree_is_returned_once_for_its_commit_and_repository(tmp_path: Path, objects: CatFiles) -> None:
    repo, other = (GitRepo(tmp_path / name, {"a/b.md": b"b"}) for name in ("r.git", "s.git"))
    recent, head = RecentTrees(), repo.head()
    tree = LocalTree(objects, repo.folder, head)
    recent.add(repo.folder, head, tree)
    assert recent.take(repo.folder, "0" * 40) is None
    assert recent.take(other.folder, head) is None
    assert recent.take(repo.folder, head) is tree
    assert recent.take(repo.folder, head) is None


def write_tree(repo: GitRepo, number: int) -> str:
    """Write a tree with many names of the same blob, which costs less than an import of files. Return its sha."""
    blob = repo.text("rev-parse", "main:a.md")
    lines = "".join(f"100644 blob {blob}\t{n}.md\n" for n in range(number))
    return repo.git("mktree", data=lines.encode()).decode().strip()


def test_large_and_replaced_trees_are_not_cached(tmp_path: Path, objects: CatFiles) -> None:
    repo, recent = GitRepo(tmp_path / "r.git", {"a.md": b"a"}), RecentTrees()
    tree = LocalTree(objects, repo.folder, repo.head())
    for number in range(MAX_TREES + 1):
        recent.add(repo.folder, str(number), tree)
    assert recent.take(repo.folder, "0") is None
    assert recent.take(repo.folder, "1") is tree
    for number, is_cached in ((MAX_NAMES, True), (MAX_NAMES + 1, False)):
        large = write_tree(repo, number)
        recent.add(repo.folder, large, LocalTree(objects, repo.folder, large))
        assert (recent.take(repo.folder, large) is not None) == is_cached
