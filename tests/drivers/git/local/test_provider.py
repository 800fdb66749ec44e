"""Tests of the local driver: the contract of all providers, and properties of bare repositories."""

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path

import pytest

from app.drivers.errors import UpstreamError, UpstreamRejected
from app.drivers.git.errors import BranchMoved, GitObjectMissing, PathConflict, RepositoryUnavailable
from app.drivers.git.local.provider import LocalGit
from app.drivers.git.port import Action, FileChange, Person
from tests.drivers.git.contract import GitContract, Make, PathConflictContract, Subject, write_in_parallel
from tests.drivers.git.merges import MergeContract, MergeRaceContract
from tests.drivers.git.revisions import RevisionsContract, read_log
from tests.support.parallel import together
from tests.support.samples.gitrepo import SUBMODULE, Content, GitRepo

BOT = Person("Galley Bot", "bot@mail.example.org")
REPO = "team/site"
BAD_NAMES = [
    "", "site", "team/", "/site", "team/site/x", "../git/team/site", "team/..", "team/site.git", "team/a.lock", ".t/site",
    "-t/site", "team/-site", "te am/site", "team/si\0te", "team/s\nite", "team/a..b", "téam/site", "team/" + "x" * 101,
]  # fmt: skip


@pytest.fixture
def local(tmp_path: Path) -> Iterator[LocalGit]:
    provider = LocalGit(tmp_path / "git", bot=BOT)
    yield provider
    provider.close()


@pytest.fixture
def make(local: LocalGit, tmp_path: Path) -> Make:
    def create(files: Mapping[str, Content]) -> Subject:
        git = GitRepo(tmp_path / "git/team/site.git", files)
        return Subject(local.open(REPO), git, REPO, local.open)

    return create


@pytest.fixture
def subject(make: Make) -> Subject:
    return make({"a.md": b"one\n", "docs/b.md": b"two\n", "bin/run.sh": b"#!/bin/sh\n"})


class TestLocalGit(GitContract, PathConflictContract):
    """The contract."""


class TestLocalMerges(MergeContract, MergeRaceContract):
    """The contract of merges."""


class TestLocalRevisions(RevisionsContract):
    """The contract of past commits."""

    FOLLOW = ("--follow",)
    FULL_HISTORY = True

    def test_entries_before_a_rename_have_the_earlier_path(self, make: Make) -> None:
        text = b"".join(b"%d\n" % number for number in range(20))
        subject = make({"old name.md": text})
        subject.git.commit({"old name.md": None, "new.md": text + b"20\n"})
        subject.git.commit({"new.md": text + b"21\n"})
        assert [entry.path for entry in read_log(subject, "new.md")] == ["new.md", "new.md", "old name.md"]


def delete(subject: Subject, branch: str, head: str) -> None:
    subject.repository.delete_branch(branch, expected_head=head)


def write(subject: Subject, branch: str, head: str) -> None:
    change = FileChange("new.md", Action.CREATE, b"new")
    subject.repository.commit(branch, [change], "Add", expected_head=head)


def succeeds(change: Callable[[Subject, str, str], None], subject: Subject, branch: str, head: str) -> bool:
    """Return whether a change of a branch was made. It must be refused because the branch moved or is missing."""
    try:
        change(subject, branch, head)
    except (BranchMoved, GitObjectMissing, RepositoryUnavailable):
        return False
    return True


class TestNames:
    @pytest.mark.parametrize("name", BAD_NAMES)
    def test_invalid_repository_name_raises_repository_unavailable(self, subject: Subject, name: str) -> None:
        with pytest.raises(RepositoryUnavailable):
            subject.open(name).facts()

    def test_link_to_a_repository_is_unavailable(self, subject: Subject, tmp_path: Path) -> None:
        (tmp_path / "git/other").symlink_to(tmp_path / "git/team")
        (tmp_path / "git/team/alias.git").symlink_to(subject.git.folder)
        for name in ("other/site", "team/alias"):
            with pytest.raises(RepositoryUnavailable):
                subject.open(name).head("main")

    def test_link_out_of_the_root_is_unavailable(self, subject: Subject, tmp_path: Path) -> None:
        GitRepo(tmp_path / "outside.git", {"secret": b"s"})
        (tmp_path / "git/team/out.git").symlink_to(tmp_path / "outside.git")
        with pytest.raises(RepositoryUnavailable):
            subject.open("team/out").head("main")

    def test_folder_without_a_repository_raises_repository_unavailable(self, local: LocalGit, tmp_path: Path) -> None:
        (tmp_path / "git/team/empty.git").mkdir(parents=True)
        with pytest.raises(RepositoryUnavailable):
            local.open("team/empty").branches()

    def test_linked_root_folder_is_accepted(self, subject: Subject, tmp_path: Path) -> None:
        (tmp_path / "link").symlink_to(tmp_path / "git")
        through = LocalGit(tmp_path / "link", bot=BOT)
        assert through.open(REPO).head("main") == subject.git.head()
        through.close()

    @pytest.mark.parametrize(
        "branch", ["--all", "main..work", "HEAD", "HEAD~1", "main^", "@", "refs/heads/main", "ma\nin", ""]
    )
    def test_invalid_branch_name_raises_repository_unavailable(self, subject: Subject, branch: str) -> None:
        with pytest.raises(RepositoryUnavailable):
            subject.repository.head(branch)

    @pytest.mark.parametrize("commit", ["main", "HEAD", "-x", "", "deadbeef", "--all"])
    def test_abbreviated_or_symbolic_commit_raises_object_missing(self, subject: Subject, commit: str) -> None:
        with pytest.raises(GitObjectMissing):
            subject.repository.tree(commit)
        with pytest.raises(GitObjectMissing):
            subject.repository.entries(commit, ["a.md"])
        with pytest.raises(GitObjectMissing):
            subject.repository.changes(commit, subject.git.head())


class TestReading:
    def test_tree_entries_and_changes_have_sizes(self, subject: Subject) -> None:
        witness = {path: known[3] for path, known in subject.git.entries().items()}
        head, first = subject.git.head(), subject.git.commit({"a.md": None}, branch="other")
        assert {entry.path: entry.size for entry in subject.repository.tree(head)} == witness
        assert {path: entry.size for path, entry in subject.repository.entries(head, list(witness)).items()} == witness
        assert {
            change.path: change.entry and change.entry.size for change in subject.repository.changes(first, head)
        } == witness

    def test_path_with_invalid_utf8_is_not_listed_and_survives_a_commit(self, subject: Subject) -> None:
        repo = subject.git
        blob = repo.git("hash-object", "-w", "--stdin", data=b"latin").strip()
        listing = repo.git("ls-tree", "-z", "main") + b"100644 blob " + blob + b"\tcaf\xe9.md\0"
        tree = repo.git("mktree", "-z", data=listing).strip().decode()
        commit = repo.text("-c", "user.name=A", "-c", "user.email=a@b.c", "commit-tree", "-m", "m", "-p", "main", tree)
        repo.git("update-ref", "refs/heads/main", commit)
        assert {entry.path for entry in subject.repository.tree(commit)} == {"a.md", "docs/b.md", "bin/run.sh"}
        subject.commit(FileChange("a.md", Action.UPDATE, b"2"))
        assert b"caf\xe9.md\0" in repo.git("ls-tree", "-z", "main")

    def test_message_in_another_encoding_is_read(self, subject: Subject) -> None:
        repo, head = subject.git, subject.git.head()
        tree = repo.text("rev-parse", "main^{tree}")
        raw = (
            f"tree {tree}\nparent {head}\nauthor A <a@b.c> 1 +0000\ncommitter A <a@b.c> 1 +0000\n\n".encode()
            + b"caf\xe9\n"
        )
        sha = repo.git("hash-object", "-t", "commit", "-w", "--stdin", data=raw).decode().strip()
        assert [info.message for info in subject.repository.history(sha, since=head)] == ["caf\ufffd\n"]

    def test_history_of_a_merge_contains_only_its_own_paths(self, subject: Subject) -> None:
        base = subject.git.head()
        side = subject.git.commit({"side.md": b"s"}, branch="side", start=base)
        subject.git.commit({"main.md": b"m"})
        merge = subject.git.commit({"side.md": b"s", "own.md": b"o"}, "Merge", merge=side)
        paths = {info.sha: info.paths for info in subject.repository.history(merge, since=base)}
        assert paths[merge] == ("own.md",)
        assert paths[side] == ("side.md",)
        assert len(paths) == 3

    def test_lines_of_a_very_large_file_are_not_counted(self, subject: Subject, local: LocalGit) -> None:
        text = b"line\n" * 1_100_000
        base = subject.git.commit({"large.md": text, "small.md": b"one\n"})
        head = subject.git.commit({"large.md": text + b"more\n", "small.md": b"two\n"})
        counts = {file.path: (file.additions, file.deletions) for file in local.open(REPO).compare(base, head).files}
        assert counts == {"large.md": (None, None), "small.md": (1, 1)}

    def test_open_blob_yields_several_pieces(self, subject: Subject, local: LocalGit) -> None:
        content = bytes(range(256)) * 12_000
        subject.git.commit({"large.bin": content})
        pieces = list(local.open(REPO).open_blob(subject.git.entries()["large.bin"][2], max_bytes=len(content)))
        assert len(pieces) > 1
        assert b"".join(pieces) == content

    def test_tree_of_a_damaged_repository_is_an_error_without_paths_of_the_machine(
        self, subject: Subject, tmp_path: Path
    ) -> None:
        tree = subject.git.text("rev-parse", "main:docs")
        loose = subject.git.folder / "objects" / tree[:2] / tree[2:]
        loose.unlink()
        with pytest.raises(UpstreamError) as broken:
            list(subject.repository.tree(subject.git.head()))
        assert str(tmp_path) not in str(broken.value)

    def test_environment_configuration_and_hooks_are_ignored(
        self, subject: Subject, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        hook = subject.git.folder / "hooks/reference-transaction"
        hook.parent.mkdir(exist_ok=True)
        hook.write_text(f"#!/bin/sh\ntouch {tmp_path}/hooked\n")
        hook.chmod(0o755)
        (tmp_path / ".gitconfig").write_text("[broken")
        for name, value in {"HOME": str(tmp_path), "GIT_DIR": "/nowhere", "GIT_OBJECT_DIRECTORY": "/nowhere"}.items():
            monkeypatch.setenv(name, value)
        commit = subject.commit(FileChange("x.md", Action.CREATE, b"x"))
        assert subject.git.head() == commit.sha
        assert not (tmp_path / "hooked").exists()

    def test_objects_packed_between_two_reads_are_readable(self, subject: Subject, local: LocalGit) -> None:
        head, sha = subject.git.head(), subject.git.entries()["a.md"][2]
        assert local.open(REPO).blob(sha, max_bytes=100) == b"one\n"
        subject.git.git("gc", "-q", "--prune=now")
        subject.git.commit({"a.md": b"two\n"})
        assert (local.open(REPO).blob(sha, max_bytes=100), len(list(local.open(REPO).tree(head)))) == (b"one\n", 3)
        assert local.open(REPO).blob(subject.git.entries()["a.md"][2], max_bytes=100) == b"two\n"

    def test_replaced_repository_does_not_return_objects_of_the_previous_one(
        self, subject: Subject, local: LocalGit
    ) -> None:
        sha = subject.git.entries()["a.md"][2]
        assert local.open(REPO).blob(sha, max_bytes=100) == b"one\n"
        subject.git.folder.rename(subject.git.folder.with_name("old.git"))
        GitRepo(subject.git.folder, {"new.md": b"new\n"})
        with pytest.raises(GitObjectMissing):
            local.open(REPO).blob(sha, max_bytes=100)

    def test_repack_keeps_all_entries(self, subject: Subject, local: LocalGit) -> None:
        before = subject.git.entries()
        local.open(REPO).repack()
        assert subject.git.entries() == before


class TestWriting:
    def test_commits_of_twenty_threads_are_all_on_the_branch(self, subject: Subject) -> None:
        outcomes = write_in_parallel(subject, writers=20, each=2)
        assert sorted(outcomes) == sorted(subject.git.commits()[:-1])
        assert len(subject.git.entries()) == 3 + 40
        subject.git.check()

    def test_branch_is_deleted_or_committed_on_but_not_both(self, subject: Subject) -> None:
        for number in range(10):
            branch = f"work/{number}"
            head = subject.repository.create_branch(branch, subject.git.head()).sha
            deleted, committed = together(
                [partial(succeeds, delete, subject, branch, head), partial(succeeds, write, subject, branch, head)]
            )
            heads = {each.name: each.sha for each in subject.repository.branches()}
            assert (deleted, committed) in {(True, False), (False, True)}
            assert (branch in heads) is committed
            assert heads.get(branch) != head

    def test_commit_without_a_lock_on_a_moved_branch_raises_branch_moved(self, subject: Subject) -> None:
        head = subject.git.head()
        first = subject.repository.commit("main", [FileChange("x", Action.CREATE, b"x")], "m", expected_head=head)
        with pytest.raises(BranchMoved):
            subject.repository.commit("main", [FileChange("y", Action.CREATE, b"y")], "m", expected_head=head)
        assert subject.git.head() == first.sha

    def test_commit_creates_no_other_ref(self, subject: Subject) -> None:
        subject.commit(FileChange("x", Action.CREATE, b"x"))
        assert subject.git.text("for-each-ref", "--format=%(refname)") == "refs/heads/main"

    def test_commit_of_three_hundred_files_writes_all_files(self, subject: Subject) -> None:
        commit = subject.commit(*(FileChange(f"f/{n}.md", Action.CREATE, b"%d" % n * 100) for n in range(300)))
        assert len(commit.changes) == 300
        assert {c.entry.size for c in commit.changes if c.entry} == {100, 200, 300}
        subject.git.check()

    @pytest.mark.parametrize("message", ["nul\0", "lone \ud800"])
    def test_message_with_invalid_characters_raises_upstream_rejected(self, subject: Subject, message: str) -> None:
        with pytest.raises(UpstreamRejected):
            subject.commit(FileChange("x", Action.CREATE, b"x"), message=message)

    def test_message_with_fast_import_commands_is_stored_as_text(self, subject: Subject) -> None:
        message = "one\nM 100644 inline evil\ndata 4\nevil\ndone\n\nreset refs/heads/main\n"
        subject.commit(FileChange("x", Action.CREATE, b"data 3\ndone\n"), message=message)
        assert set(subject.git.entries()) == {"a.md", "docs/b.md", "bin/run.sh", "x"}
        assert subject.git.git("log", "-1", "--format=%B", "main").decode() == message + "\n"

    @pytest.mark.parametrize("bad", ["A\nB", "A<", "A>", "A\0", "", "  ", "A\r"])
    def test_bot_with_line_breaks_raises_value_error(self, tmp_path: Path, bad: str) -> None:
        with pytest.raises(ValueError, match="line breaks"):
            LocalGit(tmp_path, bot=Person(bad, "b@mail.example.org"))
        with pytest.raises(ValueError, match="line breaks"):
            LocalGit(tmp_path, bot=Person("B", bad))

    def test_submodule_update_raises_path_conflict_and_deletion_succeeds(self, make: Make) -> None:
        subject = make({"a.md": b"a", "theme": (SUBMODULE, "5a1e" * 10)})
        with pytest.raises(PathConflict):
            subject.commit(FileChange("theme", Action.UPDATE, b"x"))
        subject.commit(FileChange("theme", Action.DELETE))
        assert set(subject.git.entries()) == {"a.md"}


class TestCreating:
    def test_new_repository_is_empty(self, local: LocalGit, tmp_path: Path) -> None:
        created = local.create("team/new")
        assert (created.full_name, created.default_branch, created.updated_at) == ("team/new", "main", None)
        assert list(local.open("team/new").branches()) == []
        with pytest.raises(RepositoryUnavailable):
            local.open("team/new").head("main")
        GitRepo.existing(tmp_path / "git/team/new.git").commit({"first.md": b"1"})
        assert [branch.name for branch in local.open("team/new").branches()] == ["main"]

    @pytest.mark.parametrize("name", ["new", "../x/y", "a/b.git", "a/b/c", "a/.b"])
    def test_create_with_an_invalid_name_raises_upstream_rejected(self, local: LocalGit, name: str) -> None:
        with pytest.raises(UpstreamRejected):
            local.create(name)
