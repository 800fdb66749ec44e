"""Tests of trees that are cached between the check of a save and its commit."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from app.drivers.git.local import trees
from app.drivers.git.local.catfile import CatFiles
from app.drivers.git.local.trees import LocalTree, RecentTrees
from tests.support.samples.gitrepo import GitRepo


@pytest.fixture
def objects() -> Iterator[CatFiles]:
    pool = CatFiles(timeout_s=10)
    yield pool
    pool.close()


def test_recent_tree_is_returned_once_for_its_commit_and_repository(tmp_path: Path, objects: CatFiles) -> None:
    repo, other = (GitRepo(tmp_path / name, {"a/b.md": b"b"}) for name in ("r.git", "s.git"))
    recent, head = RecentTrees(), repo.head()
    tree = LocalTree(objects, repo.folder, head)
    recent.add(repo.folder, head, tree)
    assert recent.take(repo.folder, "0" * 40) is None
    assert recent.take(other.folder, head) is None
    assert recent.take(repo.folder, head) is tree
    assert recent.take(repo.folder, head) is None


def test_large_and_replaced_trees_are_not_cached(
    tmp_path: Path, objects: CatFiles, monkeypatch: pytest.MonkeyPatch
) -> None:
    repo = GitRepo(tmp_path / "r.git", {f"{n}.md": b"a" for n in range(10)})
    tree, recent = LocalTree(objects, repo.folder, repo.head()), RecentTrees()
    for number in range(trees.MAX_TREES + 1):
        recent.add(repo.folder, str(number), tree)
    assert recent.take(repo.folder, "0") is None
    assert recent.take(repo.folder, "1") is tree
    monkeypatch.setattr(trees, "MAX_NAMES", 9)
    recent.add(repo.folder, "large", tree)
    assert recent.take(repo.folder, "large") is None
