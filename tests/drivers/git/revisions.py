"""The contract of `Revisions`: a suite that the tests of each driver inherit. Plain git verifies the results."""

import random
from typing import ClassVar

import pytest

from app.drivers.git.errors import GitObjectMissing
from app.drivers.git.object_ids import blob_sha
from app.drivers.git.revisions import CommitLogEntry, FileStatus, Revisions
from tests.drivers.git.contract import UNKNOWN, Make, Subject
from tests.support.samples import renames
from tests.support.samples.gitrepo import AUTHOR, EXECUTABLE, SYMLINK

SEED, COMMITS = 7, 24


def revisions_of(subject: Subject) -> Revisions:
    assert isinstance(subject.repository, Revisions)
    return subject.repository


def read_log(subject: Subject, path: str | None, *, page: int = 7) -> list[CommitLogEntry]:
    """Read all pages of a log."""
    entries: list[CommitLogEntry] = []
    while True:
        entries += (read := revisions_of(subject).log(subject.git.head(), path=path, skip=len(entries), limit=page))
        if len(read) < page:
            return entries


class RevisionsContract:
    """The tests of past commits. Subclasses define the fixture `make`."""

    FOLLOW: ClassVar[tuple[str, ...]] = ()
    FULL_HISTORY: ClassVar[bool] = False

    @pytest.fixture
    def old(self, make: Make) -> Subject:
        """Return a repository with many commits."""
        subject = make(renames.first_files(SEED))
        renames.extend(subject.git, SEED, COMMITS)
        return subject

    def test_log_of_the_branch_equals_git_log(self, old: Subject) -> None:
        entries = read_log(old, None)
        assert [entry.commit.sha for entry in entries] == old.git.commits()
        assert {entry.path for entry in entries} == {None}
        newest = entries[0].commit
        assert (newest.author.name, newest.author.email) == ("Ada Author", "ada@mail.example.org")
        assert newest.message.startswith(f"Change {COMMITS - 1}\n")

    def test_log_of_each_file_equals_git_log(self, old: Subject) -> None:
        for path in renames.all_paths(old.git):
            expected = old.git.text("log", *self.FOLLOW, "--format=%H", "main", "--", path).split()
            entries = read_log(old, path)
            assert [entry.commit.sha for entry in entries] == expected, path
            assert entries[0].path == path

    def test_log_of_an_unknown_path_is_empty_and_of_an_unknown_commit_an_error(self, make: Make) -> None:
        subject = make({"a.md": b"one\n"})
        assert read_log(subject, "no/such.md") == []
        with pytest.raises(GitObjectMissing):
            revisions_of(subject).log(UNKNOWN, path=None, skip=0, limit=5)

    def test_comparison_equals_git_diff_numstat(self, old: Subject) -> None:
        choice, commits = random.Random(SEED), old.git.commits()
        for _ in range(12):
            base, head = choice.sample(commits, 2)
            differences = revisions_of(old).compare(base, head)
            values = {file.path: (file.previous_path, file.additions, file.deletions) for file in differences.files}
            assert values == renames.numstat(old.git, base, head)
            assert not differences.truncated

    def test_comparison_reports_the_status_of_each_path(self, make: Make) -> None:
        text = b"".join(b"%d\n" % number for number in range(20))
        subject = make({"a.md": b"a\n", "b.md": text, "c.md": b"c\n", "run": b"x\n", "d.png": b"\0old"})
        base = subject.git.head()
        head = subject.git.commit(
            {
                "a.md": b"A\n",
                "b.md": None,
                "ü b.md": text + b"20\n",
                "c.md": None,
                "new.md": b"new\n",
                "empty": b"",
                "run": (EXECUTABLE, b"x\n"),
                "d.png": b"\0new",
            }
        )
        differences = revisions_of(subject).compare(base, head)
        assert [tuple(file) for file in differences.files] == [
            ("a.md", None, FileStatus.MODIFIED, 1, 1),
            ("c.md", None, FileStatus.REMOVED, 0, 1),
            ("d.png", None, FileStatus.MODIFIED, None, None),
            ("empty", None, FileStatus.ADDED, 0, 0),
            ("new.md", None, FileStatus.ADDED, 1, 0),
            ("run", None, FileStatus.MODIFIED, 0, 0),
            ("ü b.md", "b.md", FileStatus.RENAMED, 1, 0),
        ]

    def test_comparison_reports_a_changed_type(self, make: Make) -> None:
        subject = make({"file": b"a.md", "link": (SYMLINK, b"a.md"), "run": b"x\n"})
        base = subject.git.head()
        head = subject.git.commit({"file": (SYMLINK, b"a.md"), "link": b"# Page\n", "run": (EXECUTABLE, b"x\n")})
        differences = revisions_of(subject).compare(base, head)
        assert [(file.path, file.status) for file in differences.files] == [
            ("file", FileStatus.TYPE_CHANGED),
            ("link", FileStatus.TYPE_CHANGED),
            ("run", FileStatus.MODIFIED),
        ]

    def test_comparison_of_diverged_branches_is_direct(self, make: Make) -> None:
        subject = make({"a.md": b"a\n", "b.md": b"b\n"})
        start = subject.git.head()
        left = subject.git.commit({"a.md": b"left\n"}, branch="left", start=start)
        right = subject.git.commit({"b.md": b"right\n"}, branch="right", start=start)
        differences = revisions_of(subject).compare(left, right)
        assert {file.path for file in differences.files} == {"a.md", "b.md"}
        assert revisions_of(subject).compare(left, left).files == ()

    def test_comparison_with_an_unknown_commit_is_an_error(self, make: Make) -> None:
        subject = make({"a.md": b"one\n"})
        for ends in ((UNKNOWN, subject.git.head()), (subject.git.head(), UNKNOWN)):
            with pytest.raises(GitObjectMissing):
                revisions_of(subject).compare(*ends)

    def test_merge_base_equals_git_merge_base(self, make: Make) -> None:
        subject = make({"a.md": b"a\n"})
        git = subject.git
        start = git.head()
        left = git.commit({"l.md": b"1\n"}, branch="left", start=start)
        right = git.commit({"r.md": b"1\n"}, branch="right", start=start)
        merge = git.commit({"r.md": b"1\n"}, "Merge", branch="left", merge=right)
        later = git.commit({"r.md": b"2\n"}, branch="right")
        git.git("fast-import", "--quiet", data=f"commit refs/heads/alone\ncommitter {AUTHOR}\ndata 0\n".encode())
        alone = git.head("alone")
        expected = {
            (left, right): start,
            (right, left): start,
            (merge, later): right,
            (start, merge): start,
            (merge, merge): merge,
            (merge, alone): None,
            (alone, start): None,
        }
        values = {pair: revisions_of(subject).merge_base(*pair) for pair in expected}
        assert values == expected
        tree = git.text("rev-parse", f"{start}^{{tree}}")
        for pair in ((UNKNOWN, start), (start, UNKNOWN), (UNKNOWN, UNKNOWN), (tree, start), ("main", start)):
            with pytest.raises(GitObjectMissing):
                revisions_of(subject).merge_base(*pair)

    def test_commit_is_reachable_if_a_branch_contains_it(self, make: Make) -> None:
        subject = make({"a.md": b"one\n"})
        first = subject.git.head()
        head = subject.git.commit({"a.md": b"two\n"})
        work = subject.git.commit({"w.md": b"w\n"}, branch="work/one", start=first)
        gone = subject.git.commit({"g.md": b"g\n"}, branch="gone", start=first)
        subject.git.git("update-ref", "-d", "refs/heads/gone")
        tree = subject.git.text("rev-parse", f"{head}^{{tree}}")
        expected = {first: True, head: True, work: True, gone: False, UNKNOWN: False, tree: False, "main": False}
        values = {sha: revisions_of(subject).is_reachable(sha, branch="main") for sha in expected}
        assert values == expected

    def test_version_of_a_file_is_any_content_that_the_path_had_before_the_commit(self, make: Make) -> None:
        subject = make({"a.md": b"one\n", "secret.env": b"KEY=1\n", "same.md": b"one\n"})
        git = subject.git
        first = git.head()
        contents = [b"one\n", b"two\n", b"three\n"]
        for content in contents[1:]:
            git.commit({"a.md": content})
        removed = git.commit({"a.md": None, "secret.env": None})
        head = git.commit({"a.md": b"four\n"})
        git.commit({"a.md": b"elsewhere\n"}, branch="other", start=first)
        shas = {data: blob_sha(data) for data in (*contents, b"four\n", b"KEY=1\n", b"elsewhere\n", b"unknown\n")}
        git.git("hash-object", "-w", "--stdin", data=b"loose\n")
        has_version = revisions_of(subject).has_version
        for data in (*contents, b"four\n"):
            assert has_version(head, "a.md", shas[data]), data
        assert has_version(head, "secret.env", shas[b"KEY=1\n"])
        assert not has_version(removed, "a.md", shas[b"four\n"])
        tree = git.text("rev-parse", f"{head}^{{tree}}")
        for blob in (
            shas[b"KEY=1\n"],
            shas[b"elsewhere\n"],
            shas[b"unknown\n"],
            blob_sha(b"loose\n"),
            tree,
            UNKNOWN,
            "x",
        ):
            assert not has_version(head, "a.md", blob), blob
        for commit, path in ((UNKNOWN, "a.md"), (head, "no/such.md"), (head, "../a.md"), ("main", "a.md")):
            assert not has_version(commit, path, shas[b"one\n"])
        assert not has_version(head, "same.md", shas[b"two\n"])

    def test_version_of_a_merged_branch_that_the_merge_did_not_take_is_a_version(self, make: Make) -> None:
        subject = make({"a.md": b"one\n"})
        git = subject.git
        start = git.head()
        git.commit({"a.md": b"ours\n"})
        theirs = git.commit({"a.md": b"theirs\n"}, branch="theirs", start=start)
        merge = git.commit({"a.md": b"theirs\n"}, "Merge", merge=theirs)
        results = {
            data: revisions_of(subject).has_version(merge, "a.md", blob_sha(data))
            for data in (b"one\n", b"theirs\n", b"ours\n")
        }
        assert results == {b"one\n": True, b"theirs\n": True, b"ours\n": self.FULL_HISTORY}

    def test_version_of_a_file_before_it_was_renamed_is_a_version(self, make: Make) -> None:
        texts = [b"".join(b"%d\n" % number for number in range(20)) + tail for tail in (b"a\n", b"b\n", b"c\n", b"d\n")]
        subject = make({"old.md": texts[0], "other.md": b"other\n"})
        subject.git.commit({"old.md": texts[1], "other.md": b"changed\n"})
        subject.git.commit({"old.md": None, "folder/new name.md": texts[2]})
        head = subject.git.commit({"folder/new name.md": texts[3]})
        has_version = revisions_of(subject).has_version
        assert all(has_version(head, "folder/new name.md", blob_sha(text)) for text in texts)
        for content in (b"other\n", b"changed\n"):
            assert not has_version(head, "folder/new name.md", blob_sha(content))
