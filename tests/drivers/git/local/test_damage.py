"""Tests of repositories with missing or damaged objects."""

import os
import random
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from app.drivers.git.errors import GitObjectMissing, RepositoryDamaged, RepositoryUnavailable
from app.drivers.git.local.provider import LocalGit
from app.drivers.git.port import Action, FileChange, Person
from tests.support.git_command import run_git
from tests.support.samples.gitrepo import GitRepo

REPO = "team/site"
TEXT = random.Random(1).randbytes(30_000).hex().encode()
FILES = {"a.md": b"a\n", "docs/b.md": TEXT, "docs/more/c.md": b"c\n", "z.md": b"z\n"}


def truncate_pack(repo: GitRepo, sha: str) -> None:
    """Store one object in a pack that lacks its end."""
    path = loose_path(repo, sha)
    repo.git("pack-objects", "-q", "objects/pack/pack", data=sha.encode())
    path.unlink()
    [pack] = (repo.folder / "objects/pack").glob("*.pack")
    pack.chmod(0o644)
    os.truncate(pack, pack.stat().st_size // 2)


def loose_path(repo: GitRepo, sha: str) -> Path:
    return repo.folder / "objects" / sha[:2] / sha[2:]


def overwrite(content: bytes) -> Callable[[GitRepo, str], None]:
    def damage(repo: GitRepo, sha: str) -> None:
        path = loose_path(repo, sha)
        path.chmod(0o644)
        path.write_bytes(content)

    return damage


def cut(repo: GitRepo, sha: str) -> None:
    path = loose_path(repo, sha)
    path.chmod(0o644)
    os.truncate(path, path.stat().st_size // 2)


DAMAGES = {
    "missing": lambda repo, sha: loose_path(repo, sha).unlink(),
    "empty": overwrite(b""),
    "garbage": overwrite(b"garbage"),
    "cut": cut,
    "truncated pack": truncate_pack,
}
every_damage = pytest.mark.parametrize("damage", DAMAGES.values(), ids=list(DAMAGES))


@pytest.fixture
def local(tmp_path: Path) -> Iterator[LocalGit]:
    provider = LocalGit(tmp_path / "git", bot=Person("Galley Bot", "bot@mail.example.org"))
    yield provider
    provider.close()


@pytest.fixture
def repo(tmp_path: Path, local: LocalGit) -> GitRepo:
    repo = GitRepo(tmp_path / "git/team/site.git", {"first.md": b"1\n"})
    repo.commit(FILES | {"first.md": None})
    packed = repo.git("pack-objects", "--all", "--stdout", "-q")
    shutil.rmtree(repo.folder / "objects/pack", ignore_errors=True)
    for folder in (repo.folder / "objects").glob("??"):
        shutil.rmtree(folder)
    repo.git("unpack-objects", "-q", data=packed)
    return repo


@every_damage
class TestDamage:
    def test_branch_with_an_unreadable_commit_is_damaged(
        self, repo: GitRepo, local: LocalGit, damage: Callable[[GitRepo, str], None]
    ) -> None:
        head = repo.head()
        damage(repo, head)
        reads = (
            lambda: list(local.open(REPO).tree(head)),
            lambda: local.open(REPO).entries(head, ["a.md"]),
            lambda: local.open(REPO).list_folder(head, limit=10),
            lambda: list(local.open(REPO).history(head)),
            lambda: local.open(REPO).last_commit(head, "a.md"),
            lambda: local.open(REPO).log(head, path=None, skip=0, limit=10),
            lambda: local.open(REPO).commit("main", [FileChange("n", Action.CREATE, b"")], "m", expected_head=head),
        )
        for read in reads:
            with pytest.raises(RepositoryDamaged):
                read()
        with pytest.raises(GitObjectMissing) as caught:
            local.open(REPO).entries("dead" * 10, ["a.md"])
        assert not isinstance(caught.value, RepositoryDamaged)

    def test_packed_branch_with_an_unreadable_commit_is_not_absent(
        self, repo: GitRepo, local: LocalGit, damage: Callable[[GitRepo, str], None]
    ) -> None:
        head = repo.head()
        repo.git("pack-refs", "--all")
        damage(repo, head)
        with pytest.raises(RepositoryDamaged):
            local.open(REPO).entries(local.open(REPO).head("main"), ["a.md"])
        with pytest.raises(RepositoryUnavailable):
            local.open(REPO).head("other")

    @pytest.mark.parametrize("name", ["main^{tree}", "main:docs"])
    def test_unreadable_folder_does_not_hide_other_files(
        self, repo: GitRepo, local: LocalGit, damage: Callable[[GitRepo, str], None], name: str
    ) -> None:
        head = repo.head()
        damage(repo, repo.text("rev-parse", name))
        with pytest.raises(RepositoryDamaged):
            list(local.open(REPO).tree(head))
        if name == "main:docs":
            assert [(entry.path, entry.type) for entry in local.open(REPO).readable_tree(head)] == [
                ("a.md", "blob"), ("docs", "tree"), ("z.md", "blob"),
            ]  # fmt: skip
            assert set(local.open(REPO).entries(head, ["a.md", "z.md"])) == {"a.md", "z.md"}
        with pytest.raises(RepositoryDamaged):
            local.open(REPO).entries(head, ["docs/b.md"])

    def test_unreadable_file_does_not_hide_other_files(
        self, repo: GitRepo, local: LocalGit, damage: Callable[[GitRepo, str], None]
    ) -> None:
        head, shas = repo.head(), [entry[2] for entry in repo.entries().values()]
        sha = repo.text("rev-parse", "main:docs/b.md")
        damage(repo, sha)
        with pytest.raises(RepositoryDamaged):
            local.open(REPO).blob(sha, max_bytes=100_000)
        assert [read for read, _ in local.open(REPO).blobs(shas, max_bytes=100_000)] == [
            each for each in shas if each != sha
        ]
        repository = local.open(REPO)
        for tree in (repository.tree, repository.readable_tree):
            assert [entry.path for entry in tree(head)] == sorted(FILES)

    def test_unreadable_parent_damages_the_history_only(
        self, repo: GitRepo, local: LocalGit, damage: Callable[[GitRepo, str], None]
    ) -> None:
        head = repo.head()
        damage(repo, repo.text("rev-parse", "main^"))
        with pytest.raises(RepositoryDamaged):
            list(local.open(REPO).history(head))
        assert [entry.path for entry in local.open(REPO).tree(head)] == sorted(FILES)
        saved = local.open(REPO).commit("main", [FileChange("n", Action.CREATE, b"")], "m", expected_head=head)
        assert local.open(REPO).head("main") == saved.sha


class TestPartialClone:
    def test_files_of_a_partial_clone_are_listed_and_unreadable(
        self, repo: GitRepo, local: LocalGit, tmp_path: Path
    ) -> None:
        repo.text("config", "uploadpack.allowFilter", "true")
        target = tmp_path / "git/team/partial.git"
        source = f"file://{repo.folder}"
        done = run_git(tmp_path, "clone", "-q", "--bare", "--filter=blob:none", source, str(target))
        assert done.returncode == 0, done.stderr
        partial, head = "team/partial", repo.head()
        with pytest.raises(RepositoryDamaged):
            list(local.open(partial).tree(head))
        entries = list(local.open(partial).readable_tree(head))
        assert [(entry.path, entry.size) for entry in entries] == [(path, None) for path in sorted(FILES)]
        assert list(local.open(partial).blobs([entry.sha for entry in entries], max_bytes=100_000)) == []
        with pytest.raises(RepositoryDamaged):
            local.open(partial).blob(entries[0].sha, max_bytes=100_000)
