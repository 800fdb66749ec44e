"""The contract of `Repository.commit_merge`: a suite that the tests of each driver inherit."""

from functools import partial
from typing import ClassVar

import pytest

from app.drivers.errors import DriverError
from app.drivers.git.errors import BranchMoved, GitObjectMissing, PathConflict, RepositoryUnavailable
from app.drivers.git.port import Action, Commit, FileChange, Person
from tests.drivers.git.contract import UNKNOWN, Make, Subject, attributes_of
from tests.drivers.git.revisions import revisions_of
from tests.support.parallel import together
from tests.support.samples.gitrepo import EXECUTABLE, SYMLINK

CREATE, UPDATE, DELETE, MOVE = Action.CREATE, Action.UPDATE, Action.DELETE, Action.MOVE
MESSAGE = "Bring main into work"


def merge(subject: Subject, *changes: FileChange, author: Person | None = None, **commits: str) -> Commit:
    """Bring `main` into `work`, by default at its head."""
    commits = {"merged": subject.git.head(), "expected_head": subject.git.head("work")} | commits
    return subject.repository.commit_merge("work", changes, MESSAGE, author=author, **commits)


def parents_of(subject: Subject, commit: str) -> list[str]:
    return subject.git.text("log", "-1", "--format=%P", commit).split()


class MergeContract:
    """The tests of merges. Subclasses define the fixture `make`."""

    HAS_TWO_PARENTS: ClassVar[bool] = True

    @pytest.fixture
    def diverged(self, make: Make) -> Subject:
        """Return a repository whose branches `main` and `work` changed the same file and others."""
        subject = make({"a.md": b"one\n", "docs/b.md": b"two\n", "bin/run.sh": (EXECUTABLE, b"#!/bin/sh\n")})
        start = subject.git.head()
        subject.git.commit({"a.md": b"work\n", "work.md": b"work\n"}, branch="work", start=start)
        subject.git.commit({"a.md": b"main\n", "main.md": b"main\n", "link": (SYMLINK, b"a.md")})
        return subject

    def expected_parents(self, *parents: str) -> list[str]:
        return list(parents if self.HAS_TWO_PARENTS else parents[-1:])

    def test_merge_has_the_tree_of_the_merged_commit_with_the_changes(self, diverged: Subject) -> None:
        work, main, before = diverged.git.head("work"), diverged.git.head(), diverged.git.entries()
        commit = diverged.repository.commit_merge(
            "work",
            [
                FileChange("a.md", UPDATE, b"both\n", is_executable=True),
                FileChange("work.md", CREATE, b"work\n"),
                FileChange("docs/b.md", DELETE),
                FileChange("tools/run", MOVE, None, "bin/run.sh"),
            ],
            MESSAGE,
            merged=main,
            expected_head=work,
            author=Person("Änne Author", "aenne@mail.example.org"),
        )
        after = diverged.git.entries("work")
        assert {path: after.pop(path)[1] for path in ("a.md", "work.md")} == {"a.md": EXECUTABLE, "work.md": "100644"}
        assert after == {"main.md": before["main.md"], "link": before["link"], "tools/run": before["bin/run.sh"]}
        assert (diverged.git.show("a.md", "work"), diverged.git.show("work.md", "work")) == (b"both\n", b"work\n")
        assert (diverged.git.head("work"), diverged.git.head()) == (commit.sha, main)
        assert parents_of(diverged, commit.sha) == self.expected_parents(work, main)
        assert commit.parent == parents_of(diverged, commit.sha)[0]
        assert revisions_of(diverged).merge_base(commit.sha, main) == main
        witness = diverged.git.entries("work")
        values = {change.path: change.entry and attributes_of(change.entry) for change in commit.changes}
        assert values == {path: witness[path][:3] for path in ("a.md", "work.md", "tools/run")} | {
            "docs/b.md": None,
            "bin/run.sh": None,
        }
        information = diverged.git.text("log", "-1", "--format=%an <%ae> %B", commit.sha)
        assert information == f"Änne Author <aenne@mail.example.org> {MESSAGE}"
        diverged.git.check()

    def test_merge_without_changes_has_the_tree_of_the_merged_commit(self, diverged: Subject) -> None:
        work, main = diverged.git.head("work"), diverged.git.head()
        commit = merge(diverged)
        assert commit.changes == ()
        assert parents_of(diverged, "work") == self.expected_parents(work, main)
        assert diverged.git.text("rev-parse", "work^{tree}") == diverged.git.text("rev-parse", "main^{tree}")
        diverged.git.check()

    def test_merge_of_the_head_has_one_parent(self, diverged: Subject) -> None:
        work = diverged.git.head("work")
        commit = merge(diverged, FileChange("a.md", UPDATE, b"new\n"), merged=work)
        assert parents_of(diverged, "work") == [work] == [commit.parent]
        assert set(diverged.git.entries("work")) == set(diverged.git.entries(work))

    def test_merge_into_a_moved_branch_changes_nothing(self, diverged: Subject) -> None:
        work = diverged.git.head("work")
        for head in (diverged.git.text("rev-parse", "work^"), diverged.git.head(), UNKNOWN):
            with pytest.raises(BranchMoved):
                merge(diverged, FileChange("a.md", UPDATE, b"both\n"), expected_head=head)
        assert diverged.git.head("work") == work

    @pytest.mark.parametrize(
        ("change", "fault"),
        [
            (FileChange("main.md", CREATE, b"x"), "main.md"),
            (FileChange("main.md/below.md", CREATE, b"x"), "main.md/below.md"),
            (FileChange("work.md", UPDATE, b"x"), "work.md"),
            (FileChange("work.md", DELETE), "work.md"),
            (FileChange("new.md", MOVE, None, "work.md"), "work.md"),
        ],
    )
    def test_change_that_fits_only_the_branch_refuses_the_merge(
        self, diverged: Subject, change: FileChange, fault: str
    ) -> None:
        work = diverged.git.head("work")
        with pytest.raises(PathConflict) as refused:
            merge(diverged, change, FileChange("fine.md", CREATE, b"fine"))
        assert refused.value.paths == (fault,)
        assert diverged.git.head("work") == work

    def test_merge_of_an_unknown_commit_raises_object_missing(self, diverged: Subject) -> None:
        work = diverged.git.head("work")
        for merged in (UNKNOWN, "main", "", diverged.git.text("rev-parse", "main^{tree}")):
            for changes in ([], [FileChange("x.md", CREATE, b"x")]):
                with pytest.raises(GitObjectMissing):
                    merge(diverged, *changes, merged=merged)
        assert diverged.git.head("work") == work

    def test_merge_into_an_unknown_branch_or_with_an_invalid_message_is_refused(self, diverged: Subject) -> None:
        main, work = diverged.git.head(), diverged.git.head("work")
        for branch, message, error in (("gone", "m", RepositoryUnavailable), ("work", "", DriverError)):
            with pytest.raises(error):
                diverged.repository.commit_merge(branch, [], message, merged=main, expected_head=work)
        assert diverged.git.text("for-each-ref", "--format=%(refname:short)").split() == ["main", "work"]
        assert diverged.git.head("work") == work


class MergeRaceContract:
    """Simultaneous merges, for drivers that compare and set the branch in one step."""

    def test_simultaneous_merges_at_one_head_move_the_branch_once(self, diverged: Subject) -> None:
        work = diverged.git.head("work")

        def attempt(number: int) -> str | None:
            try:
                return merge(diverged, FileChange(f"{number}.md", CREATE, b"x"), expected_head=work).sha
            except BranchMoved:
                return None

        shas = [sha for sha in together([partial(attempt, number) for number in range(4)]) if sha]
        assert shas == [diverged.git.head("work")]
        assert parents_of(diverged, "work") == [work, diverged.git.head()]
