"""Tests of the GitHub driver: the contract of all providers, the calls of GitHub and failures of the host."""

from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import ClassVar

import pytest

from app.drivers.errors import UpstreamError, UpstreamRejected, UpstreamThrottled
from app.drivers.git.errors import BranchMoved, PathConflict, RepositoryUnavailable
from app.drivers.git.github.calls import MAX_FILES
from app.drivers.git.github.provider import GitHubRepository
from app.drivers.git.port import Action, Checks, CheckState, FileChange, NotMergeable, Person, RepoRef
from tests.drivers.git.contract import GitContract, Make, PathConflictContract, Subject
from tests.drivers.git.merges import MergeContract, MergeRaceContract
from tests.drivers.git.remote import Acting, RemoteContract, prepare_pull_request
from tests.drivers.git.revisions import RevisionsContract, revisions_of
from tests.support.doubles.github import GitHub
from tests.support.doubles.github_repos import Repository
from tests.support.doubles.plumbing import Plumbing
from tests.support.doubles.server import Fault, Reply
from tests.support.samples.gitrepo import Content

BOT = Person("Galley Bot", "bot@mail.example.org")
REPO = "team/site"


@pytest.fixture
def host() -> Iterator[GitHub]:
    double = GitHub()
    yield double
    double.close()
    assert double.violations == []


@pytest.fixture
def make(host: GitHub, tmp_path: Path) -> Make:
    def create(files: Mapping[str, Content]) -> Subject:
        git = Plumbing(tmp_path / "site.git", files)
        host.add(REPO, git, "ada")
        host.install("team", REPO)
        opener = partial(open_repository, host)
        return Subject(opener(REPO), git, REPO, opener)

    return create


@pytest.fixture
def good(host: GitHub) -> str:
    return host.installation_token(90)


@pytest.fixture
def acting(host: GitHub) -> Acting:
    return lambda supplier: GitHubRepository(host.api_url, RepoRef(REPO), supplier, bot=BOT)


def open_repository(host: GitHub, name: str, repository_id: str | None = None) -> GitHubRepository:
    token = host.installation_token(90)
    return GitHubRepository(host.api_url, RepoRef(name, repository_id), lambda rejected=None: token, bot=BOT)


class TestGitHub(GitContract, PathConflictContract):
    """The contract."""


class TestGitHubMerges(MergeContract, MergeRaceContract):
    """The contract of merges."""


class TestGitHubRevisions(RevisionsContract):
    """The contract of past commits, and comparisons that GitHub truncates."""

    def test_comparison_that_github_does_not_return_uses_contents(self, old: Subject, host: GitHub) -> None:
        host.faults.append(Fault("/compare/", times=99, reply=Reply(404, {"message": "Not Found"})))
        self.test_comparison_equals_git_diff_numstat(old)

    def test_comparison_beyond_the_file_limit_of_github_has_no_counts(self, make: Make) -> None:
        subject = make({"a.md": b"a\n", "b.md": b"b\n"})
        base = subject.git.head()
        head = subject.git.commit({f"new/{number:03}.md": b"x\n" for number in range(MAX_FILES)} | {"b.md": None})
        differences = revisions_of(subject).compare(base, head)
        assert (len(differences.files), differences.truncated) == (MAX_FILES + 1, True)
        assert tuple(differences.files[0]) == ("b.md", None, "removed", None, None)
        assert {(file.status, file.additions) for file in differences.files[1:]} == {("added", None)}

    def test_comparison_of_diverged_branches_reports_a_changed_mode(self, make: Make) -> None:
        subject = make({"run": b"x\n"})
        start = subject.git.head()
        left = subject.git.commit({"a.md": b"a\n"}, branch="left", start=start)
        right = subject.git.commit({"run": ("100755", b"x\n")}, branch="right", start=start)
        files = revisions_of(subject).compare(left, right).files
        assert [tuple(file) for file in files] == [("a.md", None, "removed", 0, 1), ("run", None, "modified", 0, 0)]

    def test_failing_host_is_reported(self, host: GitHub, make: Make) -> None:
        subject = make({"a.md": b"a\n"})
        host.faults.append(Fault("GET .*/commits$", times=9, reply=Reply(502)))
        with pytest.raises(UpstreamError):
            revisions_of(subject).log(subject.git.head(), path=None, skip=0, limit=5)


class TestGitHubFailing(RemoteContract):
    """The contract of failing hosts."""

    READS = "GET .*/git/ref/heads/main$"
    WRITES = "PATCH .*/git/refs/heads/main$"
    STEPS: ClassVar = [
        READS,
        "GET .*/git/trees/",
        "POST .*/git/blobs$",
        "POST .*/git/trees$",
        "POST .*/git/commits$",
        WRITES,
    ]
    RULE = "Required status check"

    def remote(self, host: GitHub) -> Repository:
        return host.repositories[REPO]

    def require_checks(self, host: GitHub, *names: str) -> None:
        self.remote(host).required.update(names)

    def set_checks(self, host: GitHub, commit: str, results: Mapping[str, str]) -> None:
        """Store the first result as a commit status and the others as check runs."""
        [*statuses], [*runs] = list(results.items())[:1], list(results.items())[1:]
        states = {"passed": "success", "failed": "failure", "pending": "pending"}
        self.remote(host).statuses[commit] = [{"context": name, "state": states[result]} for name, result in statuses]
        self.remote(host).check_runs[commit] = [
            {"name": name, "status": "in_progress", "conclusion": None}
            if result == "pending"
            else {"name": name, "status": "completed", "conclusion": states[result]}
            for name, result in runs
        ]

    @pytest.mark.parametrize(
        ("conclusion", "state"),
        [
            ("neutral", CheckState.PASSED),
            ("skipped", CheckState.PASSED),
            ("cancelled", CheckState.FAILED),
            ("timed_out", CheckState.FAILED),
            ("action_required", CheckState.FAILED),
            ("stale", CheckState.FAILED),
        ],
    )
    def test_conclusion_of_a_check_run_decides_its_state(
        self, subject: Subject, host: GitHub, conclusion: str, state: CheckState
    ) -> None:
        pulls = prepare_pull_request(subject)
        pulls.create_pull_request(title="Work", head="work", base="main", body="")
        head = subject.git.head("work")
        run = {"name": "build", "status": "completed", "conclusion": conclusion}
        self.remote(host).check_runs[head] = [run]
        failed = ("build",) if state is CheckState.FAILED else ()
        assert pulls.checks(1) == Checks(head, state, failed)

    def test_failed_and_pending_checks_are_failed(self, subject: Subject, host: GitHub) -> None:
        pulls = prepare_pull_request(subject)
        pulls.create_pull_request(title="Work", head="work", base="main", body="")
        head = subject.git.head("work")
        for results in ({"build": "pending", "links": "failed"}, {"links": "failed", "build": "pending"}):
            self.set_checks(host, head, results)
            assert pulls.checks(1) == Checks(head, CheckState.FAILED, ("links",))

    def test_checks_without_the_permission_are_not_counted(self, subject: Subject, host: GitHub) -> None:
        pulls = prepare_pull_request(subject)
        pulls.create_pull_request(title="Work", head="work", base="main", body="")
        self.set_checks(host, subject.git.head("work"), {"build": "failed"})
        self.remote(host).reads_checks = False
        assert pulls.checks(1).state is CheckState.NONE

    def test_merge_without_a_required_review_raises_with_the_reason_of_the_host(
        self, subject: Subject, host: GitHub
    ) -> None:
        pulls = prepare_pull_request(subject)
        pulls.create_pull_request(title="Work", head="work", base="main", body="")
        self.remote(host).needs_review = True
        with pytest.raises(NotMergeable, match="approving review is required"):
            pulls.merge_pull_request(1)

    def test_squash_is_one_commit_on_the_base(self, subject: Subject) -> None:
        pulls = prepare_pull_request(subject)
        pulls.create_pull_request(title="Work", head="work", base="main", body="")
        old = subject.git.head()
        merged = pulls.merge_pull_request(1, message="One line", is_squash=True)
        assert subject.git.text("log", "-1", "--format=%P %B", merged.sha) == f"{old} One line"

    def test_commit_after_a_push_with_a_generic_refusal_raises_branch_moved(
        self, subject: Subject, host: GitHub
    ) -> None:
        def push() -> None:
            subject.git.commit({"other.md": b"theirs\n"}, "Theirs")

        refused = Reply(422, {"message": "Reference cannot be updated"})
        host.faults.append(Fault(self.WRITES, reply=refused, first=push))
        with pytest.raises(BranchMoved):
            self.write(subject)

    def test_repeated_commit_on_a_newer_head_uploads_its_blobs_once(self, subject: Subject, host: GitHub) -> None:
        def push() -> None:
            subject.git.commit({"other.md": b"theirs\n"}, "Theirs")

        host.faults.append(Fault(self.WRITES, first=push))
        with pytest.raises(BranchMoved):
            self.write(subject)
        self.write(subject)
        assert self.is_written_once(subject)
        assert len(host.calls("POST .*/git/blobs$")) == 2

    def test_exhausted_budget_raises_throttled_with_the_time_of_its_reset(self, subject: Subject, host: GitHub) -> None:
        host.budget = dict.fromkeys(("Bearer " + token for token in host.grants), 0)
        with pytest.raises(UpstreamThrottled) as told:
            subject.repository.head("main")
        assert 1700 < told.value.retry_after_s <= 1800

    def test_last_call_of_the_budget_blocks_the_next_call(self, subject: Subject, host: GitHub) -> None:
        host.budget = dict.fromkeys(("Bearer " + token for token in host.grants), 1)
        subject.repository.head("main")
        with pytest.raises(UpstreamThrottled):
            subject.repository.head("main")
        assert len(host.calls(self.READS)) == 1

    def test_secondary_limit_without_a_time_waits_a_minute(self, subject: Subject, host: GitHub) -> None:
        said = {"message": "You have exceeded a secondary rate limit. Please wait a few minutes."}
        host.faults.append(Fault(self.READS, reply=Reply(403, said)))
        with pytest.raises(UpstreamThrottled) as told:
            subject.repository.head("main")
        assert told.value.retry_after_s == 60

    def test_delete_branch_of_a_protected_branch_raises_upstream_rejected(self, subject: Subject, host: GitHub) -> None:
        subject.git.commit({"w.md": b"w"}, branch="work", start=subject.git.head())
        host.repositories[REPO].protected.add("work")
        with pytest.raises(UpstreamRejected) as caught:
            subject.repository.delete_branch("work")
        assert caught.value.code == "BRANCH_PROTECTED"
        assert subject.git.head("work")

    def test_commit_on_a_protected_branch_raises_with_the_reason_of_the_host(
        self, subject: Subject, host: GitHub
    ) -> None:
        host.repositories[REPO].protected.add("main")
        with pytest.raises(UpstreamRejected, match="pull request") as refused:
            self.write(subject)
        assert refused.value.code == "BRANCH_PROTECTED"

    def test_read_only_repository_refuses_a_commit(self, subject: Subject, host: GitHub) -> None:
        host.repositories[REPO].read_only = True
        with pytest.raises(UpstreamRejected, match="archived"):
            self.write(subject)

    def test_deleted_branch_is_unavailable(self, subject: Subject, host: GitHub) -> None:
        subject.git.commit({"x": b"x"}, branch="work")
        host.faults.append(Fault("PATCH", first=lambda: subject.git.git("update-ref", "-d", "refs/heads/work")))
        with pytest.raises(RepositoryUnavailable):
            subject.commit(FileChange("n.md", Action.CREATE, b"n"), branch="work")

    def test_blob_with_other_bytes_than_sent_raises_upstream_error(self, subject: Subject, host: GitHub) -> None:
        wrong = {"sha": "0" * 40, "url": host.url}
        host.faults.append(Fault("POST .*/git/blobs$", reply=Reply(201, wrong)))
        with pytest.raises(UpstreamError):
            self.write(subject)

    def test_blob_with_other_bytes_than_requested_raises_upstream_error(self, subject: Subject, host: GitHub) -> None:
        host.faults.append(Fault("GET .*/git/blobs/", reply=Reply(200, b"other")))
        with pytest.raises(UpstreamError):
            subject.repository.blob(subject.git.entries()["a.md"][2], max_bytes=100)

    def test_empty_repository_has_no_branch(self, subject: Subject, host: GitHub, tmp_path: Path) -> None:
        host.add("team/empty", Plumbing(tmp_path / "empty.git"))
        host.installations[90].repositories.add("team/empty")
        with pytest.raises(RepositoryUnavailable):
            subject.open("team/empty").head("main")
        assert subject.open("team/empty").branches() == []

    def test_repository_under_the_name_of_another_is_unavailable(self, subject: Subject) -> None:
        with pytest.raises(RepositoryUnavailable):
            subject.open(REPO, "1").facts()

    def test_repository_outside_the_installation_is_unavailable(self, subject: Subject, host: GitHub) -> None:
        host.installations[90].repositories.clear()
        with pytest.raises(RepositoryUnavailable):
            list(subject.repository.tree(subject.git.head()))


class TestRename:
    """Calls on a former name of a repository."""

    def test_calls_with_the_id_reach_the_renamed_repository(self, host: GitHub, make: Make) -> None:
        subject = make({"a.md": b"a"})
        known = subject.open(REPO, str(host.repositories[REPO].id))
        host.rename(REPO, "team/renamed")
        head = known.head("main")
        assert (known.facts().full_name, head) == ("team/renamed", subject.git.head())
        assert [entry.path for entry in known.tree(head)] == ["a.md"]
        commit = known.commit("main", [FileChange("b.md", Action.CREATE, b"b")], "Add", expected_head=head)
        assert subject.git.head() == commit.sha
        assert known.blob(subject.git.entries()["b.md"][2], max_bytes=100) == b"b"
        known.create_branch("work", commit.sha)
        known.delete_branch("work")
        assert [branch.name for branch in known.branches()] == ["main"]

    def test_calls_without_an_id_are_unavailable(self, host: GitHub, make: Make) -> None:
        subject = make({"a.md": b"a"})
        host.rename(REPO, "team/renamed")
        with pytest.raises(RepositoryUnavailable):
            subject.repository.head("main")

    def test_redirect_to_another_repository_is_not_followed(self, host: GitHub, make: Make, tmp_path: Path) -> None:
        subject = make({"a.md": b"a"})
        other = host.add("team/other", Plumbing(tmp_path / "other.git", {"secret.md": b"s"}), "ada")
        host.installations[90].repositories.add(other.name)
        host.rename(REPO, "team/renamed")
        host.former[REPO] = other.id
        with pytest.raises(RepositoryUnavailable):
            subject.open(REPO, "7000").head("main")
        assert host.calls(f"/repositories/{other.id}") == []

    def test_redirect_to_another_host_is_not_followed(self, host: GitHub, make: Make) -> None:
        subject = make({"a.md": b"a"})
        location = {"Location": "http://127.0.0.1:9/api/repositories/7000/git/ref/heads/main"}
        host.faults.append(Fault("GET .*/git/ref/", reply=Reply(301, {"message": "Moved"}, location)))
        with pytest.raises(RepositoryUnavailable):
            subject.open(REPO, "7000").head("main")


class TestWritable:
    def test_writable_equals_the_permission_of_the_token(self, host: GitHub, make: Make) -> None:
        make({"a": b"a"})
        host.repositories[REPO].collaborators |= {"reader", "writer"}
        host.repositories[REPO].readers.add("reader")
        for login, writes in (("reader", False), ("writer", True)):
            token = host.user_token(login)
            acting = GitHubRepository(host.api_url, RepoRef(REPO), lambda rejected=None, token=token: token, bot=BOT)
            assert acting.facts().writable is writes


class TestTrees:
    """Truncated trees, and the number of calls that read them."""

    def test_truncated_tree_is_read_by_folder_and_equals_that_of_git(self, host: GitHub, make: Make) -> None:
        host.tree_entries = 400
        subject = make(many_files(3000))
        entries = list(subject.repository.tree(subject.git.head()))
        witness = subject.git.entries()
        assert [(e.path, e.type, e.mode, e.sha, e.size) for e in entries] == [
            (p, *about) for p, about in witness.items()
        ]

    def test_flat_folder_beyond_the_limit_is_listed(self, host: GitHub, make: Make) -> None:
        host.tree_entries = 50
        subject = make({f"posts/{number:04}.md": b"%d" % number for number in range(300)} | {"README.md": b"r"})
        assert [entry.path for entry in subject.repository.tree(subject.git.head())] == list(subject.git.entries())

    def test_folder_with_a_truncated_list_raises_upstream_error(self, host: GitHub, make: Make) -> None:
        subject = make({"a/b.md": b"b"})
        cut = {"sha": "0" * 40, "url": "u", "tree": [], "truncated": True}
        host.faults.append(Fault("GET .*/git/trees/", times=99, reply=Reply(200, cut)))
        with pytest.raises(UpstreamError):
            list(subject.repository.tree(subject.git.head()))

    def test_commit_on_a_truncated_tree_checks_its_paths(self, host: GitHub, make: Make) -> None:
        host.tree_entries = 400
        subject = make(many_files(1000))
        with pytest.raises(PathConflict):
            subject.commit(FileChange("d00/s00", Action.CREATE, b"x"))
        subject.commit(FileChange("d00/new.md", Action.CREATE, b"x"), FileChange("d01/s00/f0001.md", Action.DELETE))
        assert subject.git.show("d00/new.md") == b"x"
        assert "d01/s00/f0001.md" not in subject.git.entries()

    def test_changes_of_a_small_commit_need_few_small_reads(self, host: GitHub, make: Make) -> None:
        subject = make(many_files(1000))
        old = subject.git.head()
        new = subject.git.commit({"d03/s01/new.md": b"n"})
        host.journal.clear()
        [change] = subject.repository.changes(old, new)
        assert change.path == "d03/s01/new.md"
        assert len(host.journal) == 2
        assert not any(call.one("recursive") for call in host.journal)

    @pytest.mark.parametrize("spread", [1, 3, 10])
    def test_push_of_ten_files_is_read_with_four_calls(self, host: GitHub, make: Make, spread: int) -> None:
        subject = make(many_files(1000))
        old = subject.git.head()
        edited = {f"d{n % spread:02}/s00/f{n:04}.md": ("100755", b"new") for n in range(9)}
        new = subject.git.commit({**edited, "d01/s00/f0001.md": None}, "Push")
        host.journal.clear()
        assert subject.repository.head("main") == new
        changes = list(subject.repository.changes(old, new))
        after = subject.git.entries(new)
        assert {c.path: c.entry and (c.entry.type, c.entry.mode, c.entry.sha, c.entry.size) for c in changes} == {
            path: after.get(path) for path in {*edited, "d01/s00/f0001.md"}
        }
        assert subject.repository.is_ancestor(old, new)
        [info] = subject.repository.history(new, since=old)
        assert (info.sha, info.message.strip(), info.paths) == (
            new,
            "Push",
            tuple(sorted(change.path for change in changes)),
        )
        assert len(host.journal) <= 5

    def test_changes_with_a_failing_comparison_are_read_from_trees(self, host: GitHub, make: Make) -> None:
        subject = make(many_files(100))
        old = subject.git.head()
        new = subject.git.commit({"d03/s01/new.md": b"n"})
        for status in (404, 422, 500):
            host.faults.append(Fault("GET .*/compare/", times=4, reply=Reply(status, {"message": "Diff too large"})))
            assert [c.path for c in subject.repository.changes(old, new)] == ["d03/s01/new.md"]
            host.faults.clear()

    def test_folders_that_github_does_not_find_by_path_are_read_from_their_parents(
        self, host: GitHub, make: Make
    ) -> None:
        subject = make(many_files(100))
        old = subject.git.head()
        new = subject.git.commit({"d03/s01/new.md": b"n"})
        host.faults.append(Fault("GET .*/git/trees/.*:", reply=Reply(404, {"message": "Not Found"})))
        assert [c.path for c in subject.repository.changes(old, new)] == ["d03/s01/new.md"]

    def test_changes_of_a_reset_branch_are_read_from_trees(self, host: GitHub, make: Make) -> None:
        subject = make({"a.md": b"a"})
        old = subject.git.commit({"b.md": b"b"})
        new = subject.git.commit({"c.md": b"c"}, start=subject.git.commits()[1], branch="other")
        assert [c.path for c in subject.repository.changes(old, new)] == ["b.md", "c.md"]
        assert not subject.repository.is_ancestor(old, new)

    def test_changes_in_every_folder_are_read_from_complete_trees(self, host: GitHub, make: Make) -> None:
        subject = make(many_files(1000))
        old = subject.git.head()
        new = subject.git.commit(dict.fromkeys(subject.git.entries(), b"changed"))
        host.journal.clear()
        assert len(list(subject.repository.changes(old, new))) == 1000
        assert len(host.journal) <= 64

    def test_unchanged_head_returns_304_and_uses_no_rate(self, host: GitHub, make: Make) -> None:
        subject = make({"a.md": b"a"})
        heads = {subject.repository.head("main") for _ in range(3)}
        assert heads == {subject.git.head()}
        assert [call.status for call in host.calls("/git/ref/")] == [200, 304, 304]

    def test_changed_head_is_returned(self, host: GitHub, make: Make) -> None:
        subject = make({"a.md": b"a"})
        subject.repository.head("main")
        assert subject.git.commit({"a.md": b"b"}) == subject.repository.head("main")

    def test_history_of_a_merge_contains_only_its_own_paths(self, make: Make) -> None:
        subject = make({"a.md": b"a", "b.md": b"b"})
        base = subject.git.head()
        side = subject.git.commit({"b.md": b"side"}, branch="side", start=base)
        subject.git.commit({"a.md": b"main"})
        merged = subject.git.commit({"b.md": b"both"}, "Merge", merge=side)
        values = {info.sha: info.paths for info in subject.repository.history(merged, since=base)}
        assert values[merged] == ("b.md",)
        assert len(values) == 3


class TestCommitSteps:
    """The four steps of the specification's table."""

    def test_commit_sends_one_call_per_step_in_order(self, host: GitHub, make: Make) -> None:
        subject = make({"a.md": b"a"})
        head = subject.git.head()
        host.journal.clear()
        changes = [FileChange(f"n{number}.md", Action.CREATE, b"%d" % number) for number in range(30)]
        subject.repository.commit("main", changes, "m", expected_head=head)
        writes = [(call.method, call.path.rsplit("/repos/team/site/", 1)[1]) for call in host.calls("POST|PATCH")]
        assert writes == [("POST", "git/blobs")] * 30 + [
            ("POST", "git/trees"),
            ("POST", "git/commits"),
            ("PATCH", "git/refs/heads/main"),
        ]
        assert len(host.journal) == 30 + 6
        assert host.calls("PATCH")[0].data == {"sha": subject.git.head(), "force": False}

    def test_moved_file_keeps_its_blob_without_an_upload(self, host: GitHub, make: Make) -> None:
        subject = make({"a.md": b"a"})
        subject.commit(FileChange("b.md", Action.MOVE, None, "a.md"))
        assert host.calls("POST .*/git/blobs$") == []


def many_files(count: int) -> dict[str, Content]:
    """Return this number of files in nested folders."""
    return {f"d{n % 10:02}/s{n // 10 % 10:02}/f{n:04}.md": b"%d\n" % n for n in range(count)}
