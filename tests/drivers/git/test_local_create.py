"""Making repositories from nothing, from folders and from other repositories."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from app.drivers.errors import Rejected
from app.drivers.git.local import LocalGit
from app.drivers.git.port import Person, RepoRef, RepositoryExists
from tests.samples.gitrepo import EXECUTABLE, FILE, SYMLINK, GitRepo

REPO = RepoRef("team/new")


@pytest.fixture
def local(tmp_path: Path) -> Iterator[LocalGit]:
    provider = LocalGit(tmp_path / "git", bot=Person("Galley Bot", "bot@mail.example.org"))
    yield provider
    provider.close()


@pytest.fixture
def made(tmp_path: Path) -> GitRepo:
    return GitRepo.existing(tmp_path / "git/team/new.git")


class TestCreating:
    def test_folder_becomes_the_first_commit(self, local: LocalGit, made: GitRepo, tmp_path: Path) -> None:
        source = tmp_path / "source"
        (source / "docs/deep").mkdir(parents=True)
        (source / "docs/deep/ü a.md").write_bytes(b"deep\n")
        (source / "run.sh").write_bytes(b"#!/bin/sh\n")
        (source / "run.sh").chmod(0o755)
        (source / "link").symlink_to("docs")
        local.create("team/new", source=source)
        modes = {path: known[1] for path, known in made.entries().items()}
        assert modes == {"docs/deep/ü a.md": FILE, "run.sh": EXECUTABLE, "link": SYMLINK}
        assert made.show("docs/deep/ü a.md") == b"deep\n"
        assert made.text("log", "--format=%an %s", "main") == "Galley Bot Add files"
        made.check()

    def test_repository_gives_its_branches(self, local: LocalGit, made: GitRepo, tmp_path: Path) -> None:
        source = GitRepo(tmp_path / "source", {"a.md": b"a"}, branch="trunk")
        work = source.commit({"b.md": b"b"}, branch="work/one", start=source.head("trunk"))
        told = local.create("team/new", source=source.folder)
        assert (told.default_branch, made.head("trunk"), made.head("work/one")) == ("trunk", source.head("trunk"), work)
        assert not (made.folder / "FETCH_HEAD").exists()
        assert "remote" not in (made.folder / "config").read_text()
        made.check()

    def test_working_copy_gives_what_is_committed(self, local: LocalGit, made: GitRepo, tmp_path: Path) -> None:
        bare = GitRepo(tmp_path / "bare", {"a.md": b"a"})
        bare.git("clone", "-q", str(bare.folder), str(tmp_path / "copy"))
        (tmp_path / "copy/uncommitted.md").write_text("x")
        local.create("team/new", source=tmp_path / "copy")
        assert (made.head(), set(made.entries())) == (bare.head(), {"a.md"})

    def test_name_is_taken_once(self, local: LocalGit, made: GitRepo, tmp_path: Path) -> None:
        local.create("team/new")
        head = made.commit({"a.md": b"a"})
        with pytest.raises(RepositoryExists):
            local.create("team/new")
        assert made.head() == head

    def test_what_cannot_be_read_leaves_nothing(self, local: LocalGit, tmp_path: Path) -> None:
        source = tmp_path / "source"
        source.mkdir()
        (source / "back\\slash.md").write_text("x")
        with pytest.raises(Rejected, match="backslash"):
            local.create("team/new", source=source)
        with pytest.raises(Rejected):
            local.create("team/new", source=tmp_path / "nowhere")
        assert [path for path in (tmp_path / "git").rglob("*") if path.name != ".new"] == []

    def test_scaffolds_of_the_killed_are_cleared(self, local: LocalGit, tmp_path: Path) -> None:
        left = tmp_path / "git/.new/0123"
        left.mkdir(parents=True)
        os.utime(left, (1, 1))
        local.create("team/new")
        assert not left.exists()
        assert local.branches(REPO) == []
