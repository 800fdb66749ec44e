"""The contract of all Git providers: a suite that the tests of each driver inherit.

A module defines one fixture, `make`: it takes the files of a first commit on `main` and returns a `Subject`. Only
the port is used, and plain git on the bare repository verifies the result.
"""

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

import pytest

from app.drivers.errors import DriverError
from app.drivers.git.errors import (
    BranchExists,
    BranchMoved,
    GitObjectMissing,
    PathConflict,
    RepositoryUnavailable,
    TooLargeToRead,
)
from app.drivers.git.port import MAX_MESSAGE, Action, Commit, FileChange, Person, Repository, TreeEntry
from tests.support.samples.gitrepo import AWKWARD, EXECUTABLE, FILE, SYMLINK, Content, GitRepo

UNKNOWN = "dead" * 10
LIMIT = 10_000_000
AUTHORED = datetime.fromtimestamp(1700000000, UTC)
CREATE, UPDATE, DELETE, MOVE = Action.CREATE, Action.UPDATE, Action.DELETE, Action.MOVE


@dataclass(frozen=True)
class Subject:
    """A repository of a host, plain git on it, its name, and the function that opens others at the host."""

    repository: Repository
    git: GitRepo
    name: str
    open: Callable[..., Repository]

    def commit(self, *changes: FileChange, message: str = "Change files", branch: str = "main") -> Commit:
        head = self.repository.head(branch)
        return self.repository.commit(branch, changes, message, expected_head=head)


Make = Callable[[Mapping[str, Content]], Subject]


def attributes_of(entry: TreeEntry) -> tuple[str, str, str]:
    return entry.type, entry.mode, entry.sha


class GitContract:
    """The tests of all providers. Subclasses define the fixture `make`."""

    @pytest.fixture
    def subject(self, make: Make) -> Subject:
        return make({"a.md": b"one\n", "docs/b.md": b"two\n", "bin/run.sh": (EXECUTABLE, b"#!/bin/sh\n")})

    # Repositories and branches

    def test_repository_has_name_and_default_branch(self, subject: Subject) -> None:
        repository = subject.repository.facts()
        assert (repository.full_name, repository.default_branch) == (subject.name, "main")
        assert repository.id

    def test_unknown_repository_is_unavailable(self, subject: Subject) -> None:
        nowhere = subject.open("nobody/nothing")
        with pytest.raises(RepositoryUnavailable):
            nowhere.facts()
        with pytest.raises(RepositoryUnavailable):
            nowhere.head("main")

    def test_head_is_the_commit_of_the_branch(self, subject: Subject) -> None:
        assert subject.repository.head("main") == subject.git.head()

    @pytest.mark.parametrize("name", ["gone", "mai", "main/x"])
    def test_unknown_branch_is_unavailable(self, subject: Subject, name: str) -> None:
        with pytest.raises(RepositoryUnavailable):
            subject.repository.head(name)

    def test_branches_are_sorted_by_name(self, subject: Subject) -> None:
        work = subject.git.commit({"w.md": b"w"}, branch="work/one", start=subject.git.head())
        subject.git.commit({"z.md": b"z"}, branch="apple", start=subject.git.head())
        branches = subject.repository.branches()
        assert [branch.name for branch in branches] == ["apple", "main", "work/one"]
        assert [branch.default for branch in branches] == [False, True, False]
        assert branches[2].sha == work

    def test_created_branch_points_to_its_commit(self, subject: Subject) -> None:
        made = subject.repository.create_branch("work/new", subject.git.head())
        assert (made.name, made.sha) == ("work/new", subject.git.head())
        assert subject.git.head("work/new") == subject.git.head()

    def test_create_branch_with_an_existing_name_raises_branch_exists(self, subject: Subject) -> None:
        subject.repository.create_branch("work", subject.git.head())
        with pytest.raises(BranchExists):
            subject.repository.create_branch("work", subject.git.head())

    def test_create_branch_at_an_unknown_commit_raises_object_missing(self, subject: Subject) -> None:
        with pytest.raises(GitObjectMissing):
            subject.repository.create_branch("work", UNKNOWN)

    def test_delete_branch_removes_only_that_branch(self, subject: Subject) -> None:
        subject.git.commit({"w.md": b"w"}, branch="work/one", start=subject.git.head())
        subject.git.commit({"w.md": b"w"}, branch="work/two", start=subject.git.head())
        subject.repository.delete_branch("work/one")
        assert [branch.name for branch in subject.repository.branches()] == ["main", "work/two"]

    @pytest.mark.parametrize("name", ["gone", "mai", "a..b"])
    def test_delete_branch_of_an_unknown_branch_raises_object_not_found(self, subject: Subject, name: str) -> None:
        with pytest.raises(GitObjectMissing):
            subject.repository.delete_branch(name)

    def test_delete_branch_with_an_expected_head_deletes_only_that_head(self, subject: Subject) -> None:
        old = subject.git.commit({"w.md": b"1"}, branch="work", start=subject.git.head())
        new = subject.git.commit({"w.md": b"2"}, branch="work")
        for other in (old, UNKNOWN, ""):
            with pytest.raises(BranchMoved):
                subject.repository.delete_branch("work", expected_head=other)
        assert subject.git.head("work") == new
        subject.repository.delete_branch("work", expected_head=new)
        assert [branch.name for branch in subject.repository.branches()] == ["main"]
        with pytest.raises(GitObjectMissing):
            subject.repository.delete_branch("work", expected_head=new)

    # Reading

    def test_tree_equals_that_of_git(self, make: Make) -> None:
        subject = make(AWKWARD)
        entries = list(subject.repository.tree(subject.git.head()))
        witness = subject.git.entries()
        assert {entry.path: attributes_of(entry) for entry in entries} == {
            path: known[:3] for path, known in witness.items()
        }
        assert [entry.path for entry in entries] == list(witness)
        assert all(entry.size in (None, witness[entry.path][3]) for entry in entries)

    def test_tree_of_an_unknown_commit_is_an_error(self, subject: Subject) -> None:
        with pytest.raises(GitObjectMissing):
            list(subject.repository.tree(UNKNOWN))

    @pytest.mark.parametrize(
        ("path", "expected"),
        [
            ("", {"a.md": "blob", "docs": "tree", "bin": "tree"}),
            ("docs", {"docs/b.md": "blob"}),
            ("a.md", {}),
            ("nowhere/below", {}),
        ],
    )
    def test_list_folder_returns_direct_entries(self, subject: Subject, path: str, expected: dict[str, str]) -> None:
        listed = subject.repository.list_folder(subject.git.head(), path, limit=300)
        assert {entry.path: entry.type for entry in listed} == expected
        witness = subject.git.entries()
        assert all(entry.sha == witness[entry.path][2] for entry in listed if entry.type == "blob")

    def test_list_folder_returns_at_most_the_limit(self, subject: Subject) -> None:
        assert len(subject.repository.list_folder(subject.git.head(), limit=2)) == 2

    def test_list_folder_of_an_unknown_commit_raises_object_not_found(self, subject: Subject) -> None:
        with pytest.raises(GitObjectMissing):
            subject.repository.list_folder(UNKNOWN, limit=9)

    def test_entries_of_existing_and_missing_paths_return_existing_ones(self, make: Make) -> None:
        subject = make(AWKWARD)
        witness = subject.git.entries()
        entries = subject.repository.entries(subject.git.head(), [*witness, "no/such", "README.md/below", "bin"])
        assert entries.pop("bin").type == "tree"
        assert {path: attributes_of(entry) for path, entry in entries.items()} == {
            path: known[:3] for path, known in witness.items()
        }

    def test_changes_equal_the_difference_of_two_commits(self, subject: Subject) -> None:
        old = subject.git.head()
        new = subject.git.commit(
            {"a.md": b"changed\n", "docs/b.md": None, "new file.md": b"n", "bin/run.sh": b"#!/bin/sh\n"}
        )
        values = {change.path: change.entry for change in subject.repository.changes(old, new)}
        witness = subject.git.entries()
        assert values.pop("docs/b.md") is None
        assert {path: attributes_of(entry) for path, entry in values.items() if entry} == {
            path: witness[path][:3] for path in ("a.md", "new file.md", "bin/run.sh")
        }

    def test_changes_of_one_commit_with_itself_are_empty(self, subject: Subject) -> None:
        assert list(subject.repository.changes(subject.git.head(), subject.git.head())) == []

    def test_is_ancestor_of_earlier_and_equal_commits_is_true(self, subject: Subject) -> None:
        old, repository = subject.git.head(), subject.repository
        new = subject.git.commit({"a.md": b"2"})
        assert repository.is_ancestor(old, new)
        assert repository.is_ancestor(new, new)
        assert not repository.is_ancestor(new, old)
        assert not repository.is_ancestor(UNKNOWN, new)

    def test_history_is_newest_first_and_stops_at_since(self, subject: Subject) -> None:
        first = subject.git.head()
        second = subject.git.commit({"a.md": b"2"}, "Second\n\nWith a body\n")
        third = subject.git.commit({"docs/ü b.md": b"3", "a.md": None}, "Third")
        results = list(subject.repository.history(third, since=first))
        assert [(info.sha, info.parent, set(info.paths)) for info in results] == [
            (third, second, {"docs/ü b.md", "a.md"}),
            (second, first, {"a.md"}),
        ]
        assert results[1].message.strip() == "Second\n\nWith a body"
        assert (results[0].author.name, results[0].author.email) == ("Ada Author", "ada@mail.example.org")
        assert results[0].date == AUTHORED

    def test_history_reaches_the_first_commit(self, subject: Subject) -> None:
        [only] = subject.repository.history(subject.git.head())
        assert (only.sha, only.parent) == (subject.git.head(), None)
        assert set(only.paths) == set(subject.git.entries())

    def test_last_commit_of_a_path_is_the_commit_that_changed_it(self, subject: Subject) -> None:
        first = subject.git.head()
        second = subject.git.commit({"a.md": b"2"}, "Second")
        head = subject.git.commit({"docs/b.md": b"3"}, "Third")
        assert subject.repository.last_commit(head, "a.md").sha == second
        assert subject.repository.last_commit(second, "docs/b.md").sha == first
        with pytest.raises(GitObjectMissing):
            subject.repository.last_commit(head, "no/such.md")

    def test_end_of_a_long_message_is_not_read(self, make: Make) -> None:
        subject = make({"a.md": b"a"})
        text = "\n".join(f"Line {number}" for number in range(60_000))
        head = subject.git.commit({"a.md": b"b"}, text)
        last = subject.repository.last_commit(head, "a.md")
        listed = list(subject.repository.history(head))
        assert (last.message, last.parent) == (text[:MAX_MESSAGE], listed[1].sha)
        assert [info.message for info in listed] == [text[:MAX_MESSAGE], listed[1].message]

    @pytest.mark.parametrize(
        "path", ["unicode/cafe\u0301.md", ":(top)magic*?[x].md", "-dash.md", " leading and trailing "]
    )
    def test_last_commit_does_not_interpret_special_characters_in_paths(self, make: Make, path: str) -> None:
        subject = make(AWKWARD)
        head = subject.git.commit({"other.md": b"x"})
        assert subject.repository.last_commit(head, path).sha == subject.git.text("rev-parse", f"{head}^")

    def test_blobs_are_yielded_in_the_requested_order(self, make: Make) -> None:
        subject = make(AWKWARD)
        shas = [known[2] for known in subject.git.entries().values() if known[0] == "blob"] * 9
        results = list(subject.repository.blobs(iter(shas), max_bytes=LIMIT))
        assert [sha for sha, _ in results] == shas
        assert dict(results) == {sha: subject.git.git("cat-file", "blob", sha) for sha in set(shas)}

    def test_blob_returns_the_stored_bytes(self, make: Make) -> None:
        content = bytes(range(256)) * 12_000
        subject = make({"large.bin": content})
        sha = subject.git.entries()["large.bin"][2]
        assert subject.repository.blob(sha, max_bytes=len(content)) == content
        assert b"".join(subject.repository.open_blob(sha, max_bytes=len(content))) == content

    def test_blob_above_the_limit_is_not_read(self, make: Make) -> None:
        subject = make({"a": b"a", "b": b"b" * 100_001, "c": b"c" * 100_000, "d": b"d" * 300_000})
        shas = {path: known[2] for path, known in subject.git.entries().items()}
        with pytest.raises(TooLargeToRead):
            subject.repository.blob(shas["b"], max_bytes=100_000)
        with pytest.raises(TooLargeToRead):
            next(subject.repository.open_blob(shas["b"], max_bytes=100_000))
        results = dict(subject.repository.blobs(shas.values(), max_bytes=100_000))
        assert [results[shas[path]] for path in "abcd"] == [b"a", None, b"c" * 100_000, None]

    @pytest.mark.parametrize("sha", [UNKNOWN, "HEAD", "", "main", "-x"])
    def test_unknown_blob_raises_object_missing(self, subject: Subject, sha: str) -> None:
        with pytest.raises(GitObjectMissing):
            subject.repository.blob(sha, max_bytes=LIMIT)

    # Writing

    def test_commit_contains_all_changes(self, subject: Subject) -> None:
        old = subject.git.head()
        commit = subject.commit(
            FileChange("new/file.md", CREATE, b"new\n"),
            FileChange("a.md", UPDATE, b"changed\n"),
            FileChange("docs/b.md", DELETE),
            FileChange("tools/run", MOVE, None, "bin/run.sh"),
            message="Change four files",
        )
        witness = subject.git.entries()
        assert set(witness) == {"new/file.md", "a.md", "tools/run"}
        assert subject.git.show("new/file.md") == b"new\n"
        assert subject.git.show("a.md") == b"changed\n"
        assert (commit.sha, commit.parent) == (subject.git.head(), old)
        assert subject.git.commits() == [commit.sha, old]
        values = {change.path: change.entry and attributes_of(change.entry) for change in commit.changes}
        assert values == {path: known[:3] for path, known in witness.items()} | {"docs/b.md": None, "bin/run.sh": None}
        subject.git.check()

    @pytest.mark.parametrize(
        ("changes", "path", "mode"),
        [
            ([FileChange("bin/run.sh", UPDATE, b"new\n")], "bin/run.sh", EXECUTABLE),
            ([FileChange("run.sh", MOVE, b"new\n", "bin/run.sh")], "run.sh", EXECUTABLE),
            ([FileChange("run.sh", MOVE, None, "bin/run.sh")], "run.sh", EXECUTABLE),
            (
                [FileChange("a.md", MOVE, b"new\n", "bin/run.sh"), FileChange("a.sh", MOVE, b"x\n", "a.md")],
                "a.md",
                EXECUTABLE,
            ),
            ([FileChange("bin/b.md", MOVE, b"new\n", "docs/b.md")], "bin/b.md", "100644"),
            ([FileChange("bin/new.sh", CREATE, b"new\n")], "bin/new.sh", "100644"),
        ],
    )
    def test_changed_file_keeps_its_mode(
        self, subject: Subject, changes: list[FileChange], path: str, mode: str
    ) -> None:
        subject.commit(*changes)
        assert mode in subject.git.entries()[path]
        assert subject.git.show(path) == (changes[0].content or b"#!/bin/sh\n")
        subject.git.check()

    def test_commit_has_the_bot_as_author_and_the_unchanged_message(self, subject: Subject) -> None:
        message = "Änderung ✓\n\nBody with  spaces\n\nCo-authored-by: A <a@mail.example.org>"
        subject.commit(FileChange("x.md", CREATE, b"x"), message=message)
        assert subject.git.text("log", "-1", "--format=%B", "main") == message
        author, committer = subject.git.text("log", "-1", "--format=%an <%ae>%n%cn <%ce>", "main").splitlines()
        assert author == committer
        assert "Ada" not in author

    def test_commit_with_an_author_has_that_author_and_the_bot_as_committer(self, subject: Subject) -> None:
        subject.commit(FileChange("x.md", CREATE, b"x"))
        committer = subject.git.text("log", "-1", "--format=%cn <%ce>", "main")
        head = subject.git.head()
        commit = subject.repository.commit("main", [FileChange("y.md", CREATE, b"y")], "By Änne",
            expected_head=head, author=Person("Änne Author", "aenne@mail.example.org"),
        )  # fmt: skip
        lines = subject.git.text("log", "-1", "--format=%an <%ae>%n%cn <%ce>", commit.sha).splitlines()
        assert lines == ["Änne Author <aenne@mail.example.org>", committer]

    def test_update_keeps_the_mode(self, make: Make) -> None:
        subject = make(AWKWARD)
        subject.commit(
            FileChange("bin/run.sh", UPDATE, b"#!/bin/bash\n"), FileChange("links/to-run", UPDATE, b"../bin/other")
        )
        witness = subject.git.entries()
        assert [witness[path][1] for path in ("bin/run.sh", "links/to-run")] == [EXECUTABLE, SYMLINK]
        assert subject.git.show("links/to-run") == b"../bin/other"

    def test_executable_bit_of_a_change_sets_the_mode(self, subject: Subject) -> None:
        commit = subject.commit(
            FileChange("bin/run.sh", UPDATE, b"#!/bin/sh\n", is_executable=False),
            FileChange("bin/new.sh", CREATE, b"#!/bin/sh\n", is_executable=True),
            FileChange("a.md", UPDATE, b"two\n", is_executable=True),
            FileChange("c.md", MOVE, None, "docs/b.md", is_executable=False),
        )
        witness = subject.git.entries()
        modes = {"a.md": EXECUTABLE, "bin/new.sh": EXECUTABLE, "bin/run.sh": FILE, "c.md": FILE}
        assert {path: witness[path][1] for path in modes} == modes
        assert {change.path: change.entry.mode for change in commit.changes if change.entry} == modes

    def test_move_keeps_the_mode_and_keeps_or_replaces_the_bytes(self, make: Make) -> None:
        subject = make(AWKWARD)
        before = subject.git.entries()
        subject.commit(
            FileChange("run.sh", MOVE, None, "bin/run.sh"), FileChange("r.md", MOVE, b"other\n", "README.md")
        )
        after = subject.git.entries()
        assert after["run.sh"] == before["bin/run.sh"]
        assert (after["r.md"][1], subject.git.show("r.md")) == (FILE, b"other\n")
        assert not {"bin/run.sh", "README.md"} & set(after)

    def test_new_file_receives_a_blob_of_an_earlier_commit(self, subject: Subject) -> None:
        removed = subject.git.entries()
        entries = subject.repository.entries(subject.git.head(), ["docs/b.md", "bin/run.sh"])
        subject.commit(*(FileChange(path, DELETE) for path in entries))
        blobs = {"new/b.md": entries["docs/b.md"], "new/run.sh": entries["bin/run.sh"]}
        subject.commit(
            *(FileChange(path, CREATE, is_executable=path.endswith(".sh"), blob=entry) for path, entry in blobs.items())
        )
        expected = {"new/b.md": removed["docs/b.md"], "new/run.sh": removed["bin/run.sh"], "a.md": removed["a.md"]}
        assert subject.git.entries() == expected

    def test_unusual_names_and_contents_are_written(self, make: Make) -> None:
        subject = make({"start.md": b""})
        expected = {path: content for path, content in AWKWARD.items() if isinstance(content, bytes)}
        del expected["unicode/cafe\u0301.md"]  # equal to another name on macOS
        subject.commit(*(FileChange(path, CREATE, content) for path, content in expected.items()))
        for path, content in expected.items():
            assert subject.git.show(path) == content, path
        assert set(subject.git.entries()) == {*expected, "start.md"}
        subject.commit(*(FileChange(f"moved/{path}", MOVE, None, path) for path in expected))
        subject.commit(*(FileChange(f"moved/{path}", DELETE) for path in expected))
        assert set(subject.git.entries()) == {"start.md"}
        subject.git.check()

    def test_commit_on_a_branch_does_not_change_other_branches(self, subject: Subject) -> None:
        subject.repository.create_branch("work/one", subject.git.head())
        main = subject.git.head()
        commit = subject.commit(FileChange("w.md", CREATE, b"w"), branch="work/one")
        assert (subject.git.head(), subject.git.head("work/one")) == (main, commit.sha)

    def test_commit_on_a_moved_branch_raises_branch_moved(self, subject: Subject) -> None:
        old = subject.git.head()
        new = subject.git.commit({"other.md": b"pushed"})
        with pytest.raises(BranchMoved):
            subject.repository.commit("main", [FileChange("x.md", CREATE, b"x")], "Too late", expected_head=old)
        assert subject.git.head() == new
        assert "x.md" not in subject.git.entries()

    def test_commit_on_an_unknown_branch_is_unavailable(self, subject: Subject) -> None:
        change = FileChange("x.md", CREATE, b"x")
        with pytest.raises(RepositoryUnavailable):
            subject.repository.commit("gone", [change], "m", expected_head=subject.git.head())

    @pytest.mark.parametrize("path", ["../x", "/x", "a//b", ".git/config", "a\nb", ""])
    def test_commit_with_an_invalid_path_raises_and_writes_nothing(self, subject: Subject, path: str) -> None:
        before = subject.git.head()
        with pytest.raises(DriverError):
            subject.commit(FileChange(path, CREATE, b"x"))
        assert subject.git.head() == before

    def test_parallel_commits_are_all_on_the_branch(self, subject: Subject) -> None:
        made = write_in_parallel(subject, writers=6, each=2)
        assert sorted(subject.git.commits()[:12]) == sorted(made)
        assert len(subject.git.commits()) == 13
        subject.git.check()


class PathConflictContract:
    """Changes that conflict with the tree, for drivers that build trees and check the changes."""

    @pytest.mark.parametrize(
        ("changes", "fault"),
        [
            ([FileChange("a.md", CREATE, b"x")], "a.md"),
            ([FileChange("no.md", UPDATE, b"x")], "no.md"),
            ([FileChange("no.md", DELETE)], "no.md"),
            ([FileChange("docs", DELETE)], "docs"),
            ([FileChange("new.md", MOVE, None, "no.md")], "no.md"),
            ([FileChange("a.md", MOVE, None, "docs/b.md")], "a.md"),
            ([FileChange("docs", CREATE, b"x")], "docs"),
            ([FileChange("docs", UPDATE, b"x")], "docs"),
            ([FileChange("a.md/below.md", CREATE, b"x")], "a.md/below.md"),
            ([FileChange("n", CREATE, b"x"), FileChange("n/m", CREATE, b"y")], "n/m"),
            ([FileChange("n", CREATE, b"x"), FileChange("n", CREATE, b"y")], "n"),
            ([FileChange("a.md", DELETE), FileChange("c.md", MOVE, None, "a.md")], "a.md"),
        ],
    )
    def test_conflicting_change_refuses_the_complete_commit(
        self, make: Make, changes: list[FileChange], fault: str
    ) -> None:
        subject = make({"a.md": b"one\n", "docs/b.md": b"two\n"})
        head = subject.git.head()
        with pytest.raises(PathConflict) as refused:
            subject.commit(*changes, FileChange("fine.md", CREATE, b"fine"))
        assert refused.value.paths == (fault,)
        assert subject.git.head() == head

    @pytest.mark.parametrize(
        ("changes", "other"),
        [
            ([FileChange("A.md", CREATE, b"x")], "a.md"),
            ([FileChange("Docs/new.md", CREATE, b"x")], "docs"),
            ([FileChange("DOCS", CREATE, b"x")], "docs"),
            ([FileChange("docs/B.md", MOVE, None, "a.md")], "docs/b.md"),
            ([FileChange("cafe\u0301.md", CREATE, b"x")], "caf\u00e9.md"),
            ([FileChange("new/x.md", CREATE, b"x"), FileChange("new/X.md", CREATE, b"x")], "new/x.md"),
            ([FileChange("new/x.md", CREATE, b"x"), FileChange("New/y.md", CREATE, b"x")], "new"),
            ([FileChange("x.md", CREATE, b"x"), FileChange("ΣΑΣ.md", CREATE, b"x")], "σας.md"),
        ],
    )
    def test_new_name_equal_to_a_present_one_is_refused(
        self, make: Make, changes: list[FileChange], other: str
    ) -> None:
        subject = make({"a.md": b"1\n", "docs/b.md": b"2\n", "caf\u00e9.md": b"3\n", "σας.md": b"4\n"})
        head = subject.git.head()
        with pytest.raises(PathConflict, match=other) as refused:
            subject.commit(*changes)
        assert refused.value.paths == (changes[-1].path,)
        assert subject.git.head() == head

    def test_names_that_differ_in_more_than_case_are_accepted(self, make: Make) -> None:
        subject = make({"a.md": b"1\n", "docs/b.md": b"2\n", "strasse.md": b"3\n"})
        subject.commit(FileChange("straße.md", CREATE, b"x"), FileChange("docs/A.md", CREATE, b"x"))
        moves = [FileChange("A.md", MOVE, None, "a.md"), FileChange("Docs/b.md", MOVE, None, "docs/b.md")]
        subject.commit(*moves, FileChange("Docs/A.md", MOVE, None, "docs/A.md"))
        assert set(subject.git.entries()) == {"A.md", "Docs/A.md", "Docs/b.md", "strasse.md", "straße.md"}

    def test_file_can_replace_a_deleted_folder(self, make: Make) -> None:
        subject = make({"a.md": b"one\n", "docs/b.md": b"two\n", "docs/deep/c.md": b"three\n"})
        gone = [FileChange("docs/b.md", DELETE), FileChange("docs/deep/c.md", DELETE)]
        subject.commit(*gone, FileChange("docs", CREATE, b"file"))
        assert {path: subject.git.show(path) for path in subject.git.entries()} == {"a.md": b"one\n", "docs": b"file"}

    def test_folder_can_replace_a_moved_file(self, make: Make) -> None:
        subject = make({"a": b"one\n"})
        subject.commit(FileChange("a/b", MOVE, None, "a"))
        assert set(subject.git.entries()) == {"a/b"}

    def test_two_files_can_be_swapped(self, make: Make) -> None:
        subject = make({"a": b"one\n", "b": b"two\n"})
        subject.commit(FileChange("a", MOVE, None, "b"), FileChange("b", MOVE, None, "a"))
        assert (subject.git.show("a"), subject.git.show("b")) == (b"two\n", b"one\n")
        subject.git.check()


def write_in_parallel(subject: Subject, *, writers: int, each: int) -> list[str]:
    """Let writers add files to one branch in parallel. Return the shas of their commits."""
    items: list[str] = []
    failures: list[BaseException] = []

    def write(writer: int) -> None:
        try:
            for number in range(each):
                items.append(add(f"w{writer}/n{number}.md"))
        except BaseException as failure:
            failures.append(failure)

    def add(path: str) -> str:
        for _ in range(200):
            with subject.repository.branch_lock("main"):
                try:
                    return subject.commit(FileChange(path, CREATE, path.encode()), message=f"Add {path}").sha
                except BranchMoved:
                    continue
        raise AssertionError("never got its turn")

    threads = [threading.Thread(target=write, args=(number,)) for number in range(writers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    assert not failures, failures
    return items
