"""Tests of the creation of repositories, also from folders and from other repositories."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from app.drivers.errors import UpstreamRejected
from app.drivers.git.errors import RepositoryExists, RepositoryUnavailable
from app.drivers.git.local import creation
from app.drivers.git.local.commands import Finished, run
from app.drivers.git.local.provider import LocalGit
from app.drivers.git.port import Person
from tests.support.samples.gitrepo import AUTHOR, EXECUTABLE, FILE, SYMLINK, GitRepo

REPO = "team/new"


@pytest.fixture
def local(tmp_path: Path) -> Iterator[LocalGit]:
    provider = LocalGit(tmp_path / "git", bot=Person("Galley Bot", "bot@mail.example.org"))
    yield provider
    provider.close()


@pytest.fixture
def target(tmp_path: Path) -> GitRepo:
    return GitRepo.existing(tmp_path / "git/team/new.git")


class TestCreating:
    def test_create_from_a_folder_commits_its_files(self, local: LocalGit, target: GitRepo, tmp_path: Path) -> None:
        source = tmp_path / "source"
        (source / "docs/deep").mkdir(parents=True)
        (source / "docs/deep/ü a.md").write_bytes(b"deep\n")
        (source / "run.sh").write_bytes(b"#!/bin/sh\n")
        (source / "run.sh").chmod(0o755)
        (source / "link").symlink_to("docs")
        local.create("team/new", source=source)
        modes = {path: known[1] for path, known in target.entries().items()}
        assert modes == {"docs/deep/ü a.md": FILE, "run.sh": EXECUTABLE, "link": SYMLINK}
        assert target.show("docs/deep/ü a.md") == b"deep\n"
        assert target.text("log", "--format=%an %s", "main") == "Galley Bot Add files"
        target.check()

    def test_create_from_a_repository_copies_its_branches(
        self, local: LocalGit, target: GitRepo, tmp_path: Path
    ) -> None:
        source = GitRepo(tmp_path / "source", {"a.md": b"a"}, branch="trunk")
        work = source.commit({"b.md": b"b"}, branch="work/one", start=source.head("trunk"))
        created = local.create("team/new", source=source.folder)
        assert (created.default_branch, target.head("trunk"), target.head("work/one")) == (
            "trunk",
            source.head("trunk"),
            work,
        )
        assert not (target.folder / "FETCH_HEAD").exists()
        assert "remote" not in (target.folder / "config").read_text()
        target.check()

    def test_create_from_a_working_copy_ignores_uncommitted_files(
        self, local: LocalGit, target: GitRepo, tmp_path: Path
    ) -> None:
        bare = GitRepo(tmp_path / "bare", {"a.md": b"a"})
        bare.git("clone", "-q", str(bare.folder), str(tmp_path / "copy"))
        (tmp_path / "copy/uncommitted.md").write_text("x")
        local.create("team/new", source=tmp_path / "copy")
        assert (target.head(), set(target.entries())) == (bare.head(), {"a.md"})

    def test_create_with_an_existing_name_raises_repository_exists(
        self, local: LocalGit, target: GitRepo, tmp_path: Path
    ) -> None:
        local.create("team/new")
        head = target.commit({"a.md": b"a"})
        with pytest.raises(RepositoryExists):
            local.create("team/new")
        assert target.head() == head

    def test_create_from_an_unreadable_source_raises_and_stores_nothing(self, local: LocalGit, tmp_path: Path) -> None:
        source = tmp_path / "source"
        source.mkdir()
        (source / "back\\slash.md").write_text("x")
        with pytest.raises(UpstreamRejected, match="backslash"):
            local.create("team/new", source=source)
        with pytest.raises(UpstreamRejected):
            local.create("team/new", source=tmp_path / "nowhere")
        assert [path for path in (tmp_path / "git").rglob("*") if path.name != ".new"] == []

    def test_create_removes_partial_repositories_of_killed_processes(self, local: LocalGit, tmp_path: Path) -> None:
        left = tmp_path / "git/.new/0123"
        left.mkdir(parents=True)
        os.utime(left, (1, 1))
        local.create("team/new")
        assert not left.exists()
        assert local.open(REPO).branches() == []

    def test_create_ignores_folders_that_another_request_removes_after_the_listing(
        self, local: LocalGit, tmp_path: Path
    ) -> None:
        removed = tmp_path / "git/.new/0123"
        removed.parent.mkdir(parents=True)
        removed.symlink_to("missing")  # listed, but not found
        local.create("team/new")
        assert local.open(REPO).branches() == []


def tree_of(repo: GitRepo, *entries: tuple[str, bytes, str]) -> str:
    """Write a tree object of (mode, name, sha) without any check. Return its name."""
    data = b"".join(mode.encode() + b" " + name + b"\0" + bytes.fromhex(sha) for mode, name, sha in entries)
    return repo.git("hash-object", "-t", "tree", "--literally", "-w", "--stdin", data=data).decode().strip()


def with_hostile_head(repo: GitRepo, kind: str) -> str:
    """Move `main` to a commit whose tree is malformed."""
    blob = repo.git("hash-object", "-w", "--stdin", data=b"/etc").decode().strip()
    folder = tree_of(repo, (FILE, b"passwd", blob))
    tree = tree_of(repo, *{
        "duplicate": [(SYMLINK, b"x", blob), ("40000", b"x", folder)],
        "dotgit": [("40000", b".git", folder)],
        "dotgit in capitals": [("40000", b".GIT", folder)],
        "dotgit of NTFS": [("40000", b"git~1", folder)],
        "parent": [("40000", b"..", folder)],
        "slash": [(FILE, b"a/b", blob)],
        "empty name": [(FILE, b"", blob)],
    }[kind])  # fmt: skip
    text = f"tree {tree}\nauthor {AUTHOR}\ncommitter {AUTHOR}\n\nHostile\n".encode()
    commit = repo.git("hash-object", "-t", "commit", "-w", "--stdin", data=text).decode().strip()
    repo.git("update-ref", "refs/heads/main", commit)
    return commit


HOSTILE = ["duplicate", "dotgit", "dotgit in capitals", "dotgit of NTFS", "parent", "slash", "empty name"]


class TestObjectChecks:
    @pytest.mark.parametrize("kind", HOSTILE)
    def test_import_of_malformed_tree_is_rejected(self, local: LocalGit, tmp_path: Path, kind: str) -> None:
        source = GitRepo(tmp_path / "source", {"a.md": b"a"})
        with_hostile_head(source, kind)
        with pytest.raises(UpstreamRejected) as rejected:
            local.create("team/new", source=source.folder)
        assert rejected.value.code == "INVALID_REPOSITORY"
        assert not (tmp_path / "git/team/new.git").exists()

    @pytest.mark.parametrize("kind", HOSTILE)
    def test_push_of_malformed_tree_is_rejected(
        self, local: LocalGit, target: GitRepo, tmp_path: Path, kind: str
    ) -> None:
        local.create("team/new")
        source = GitRepo(tmp_path / "source", {"a.md": b"a"})
        source.git("push", "-q", str(target.folder), "main")
        head = target.head()
        with_hostile_head(source, kind)
        with pytest.raises(AssertionError, match=r"fsck|unpack"):
            source.git("push", "-q", "--force", str(target.folder), "main")
        assert target.head() == head

    def test_import_of_zero_padded_mode_succeeds(self, local: LocalGit, target: GitRepo, tmp_path: Path) -> None:
        source = GitRepo(tmp_path / "source", {"a.md": b"a"})
        blob = source.entries()["a.md"][2]
        folder = tree_of(source, (FILE, b"b.md", blob))
        tree = tree_of(source, ("040000", b"docs", folder))
        text = f"tree {tree}\nauthor {AUTHOR}\ncommitter {AUTHOR}\n\nOld\n".encode()
        commit = source.git("hash-object", "-t", "commit", "-w", "--stdin", data=text).decode().strip()
        source.git("update-ref", "refs/heads/main", commit)
        local.create("team/new", source=source.folder)
        assert target.head() == commit
        assert [entry.path for entry in local.open(REPO).tree(commit)] == ["docs/b.md"]

    def test_repack_adds_the_checks_to_an_existing_repository_once(
        self, local: LocalGit, target: GitRepo, tmp_path: Path
    ) -> None:
        existing = GitRepo(tmp_path / "git/team/new.git", {"a.md": b"a"})
        for _ in range(2):
            local.open(REPO).repack()
        assert existing.text("config", "--get-all", "transfer.fsckObjects") == "true"
        assert target.head() == existing.head()


class TestForeignStorage:
    @pytest.fixture
    def source(self, tmp_path: Path) -> GitRepo:
        return GitRepo(tmp_path / "source", {"a.md": b"a"})

    @pytest.fixture
    def secret(self, tmp_path: Path) -> GitRepo:
        return GitRepo(tmp_path / "git/other/secret.git", {"secret.md": b"secret"})

    @pytest.mark.parametrize("name", ["refs/heads/stolen", "objects/00", "refs/heads/folder"])
    def test_import_with_link_below_refs_or_objects_is_rejected(
        self, local: LocalGit, source: GitRepo, secret: GitRepo, name: str
    ) -> None:
        targets = {"refs/heads/stolen": "refs/heads/main", "objects/00": "objects", "refs/heads/folder": "refs/heads"}
        (source.folder / name).symlink_to(secret.folder / targets[name])
        self.assert_rejected(local, source.folder)

    @pytest.mark.parametrize("name", ["refs", "objects", "HEAD"])
    def test_import_with_linked_part_is_rejected(
        self, local: LocalGit, source: GitRepo, secret: GitRepo, name: str
    ) -> None:
        (source.folder / name).rename(source.folder / f"{name}.away")
        (source.folder / name).symlink_to(secret.folder / name)
        self.assert_rejected(local, source.folder)

    def test_import_with_alternates_is_rejected(self, local: LocalGit, source: GitRepo, secret: GitRepo) -> None:
        (source.folder / "objects/info").mkdir(exist_ok=True)
        (source.folder / "objects/info/alternates").write_text(f"{secret.folder}/objects\n")
        source.git("update-ref", "refs/heads/stolen", secret.head())
        self.assert_rejected(local, source.folder)

    @pytest.mark.parametrize("kind", ["link", "file"])
    def test_import_of_working_copy_with_an_external_git_folder_is_rejected(
        self, local: LocalGit, secret: GitRepo, tmp_path: Path, kind: str
    ) -> None:
        (tmp_path / "copy").mkdir()
        if kind == "link":
            (tmp_path / "copy/.git").symlink_to(secret.folder)
        else:
            (tmp_path / "copy/.git").write_text(f"gitdir: {secret.folder}\n")
        self.assert_rejected(local, tmp_path / "copy")

    def assert_rejected(self, local: LocalGit, source: Path) -> None:
        with pytest.raises(UpstreamRejected) as rejected:
            local.create("team/new", source=source)
        assert rejected.value.code == "UNSAFE_REPOSITORY"
        with pytest.raises(RepositoryUnavailable):
            local.open(REPO).facts()


def test_bundle_has_the_refs_of_one_moment_while_a_branch_moves(
    local: LocalGit, target: GitRepo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = GitRepo(tmp_path / "source", {"a.md": b"a"})
    source.commit({"b.md": b"b"}, branch="work", start=source.head("main"))
    local.create("team/new", source=source.folder)
    heads = {"main": target.head("main"), "work": target.head("work")}

    def run_after_a_commit(folder: Path, *arguments: str, timeout_s: float) -> Finished:
        if arguments[:2] == ("bundle", "create"):
            target.commit({"c.md": b"c"}, start=heads["main"])
        return run(folder, *arguments, timeout_s=timeout_s)

    monkeypatch.setattr(creation, "run", run_after_a_commit)
    info = local.bundles.write("team/new", tmp_path / "refs.bundle")
    listed = target.text("bundle", "list-heads", str(tmp_path / "refs.bundle")).splitlines()
    assert {*listed} == {f"{heads[name]} refs/heads/{name}" for name in heads} | {f"{heads['main']} HEAD"}
    assert (info.refs, target.head("main") != heads["main"]) == (2, True)
    monkeypatch.undo()
    restored = local.bundles.read("team/restored", tmp_path / "refs.bundle", "main")
    assert restored == info
