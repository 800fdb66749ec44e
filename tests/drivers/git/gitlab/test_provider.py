"""Tests of the GitLab driver: the contract of all providers, the calls of GitLab and failures of the host."""

from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import pytest

from app.drivers.errors import UpstreamError, UpstreamRejected, UpstreamThrottled, UpstreamUnavailable
from app.drivers.git.errors import BranchMoved, PathConflict, RepositoryUnavailable
from app.drivers.git.gitlab import values
from app.drivers.git.gitlab.provider import GitLabRepository
from app.drivers.git.port import (
    Action,
    Checks,
    CheckState,
    FileChange,
    NotMergeable,
    Person,
    PullRequestState,
    RepoRef,
)
from tests.drivers.git.contract import GitContract, Make, PathConflictContract, Subject
from tests.drivers.git.merges import MESSAGE, MergeContract, merge, parents_of
from tests.drivers.git.remote import Acting, RemoteContract, prepare_pull_request
from tests.drivers.git.revisions import RevisionsContract, revisions_of
from tests.support.doubles.gitlab import GitLab
from tests.support.doubles.gitlab_projects import Project
from tests.support.doubles.plumbing import Plumbing
from tests.support.doubles.server import Fault, Reply
from tests.support.samples.gitrepo import EXECUTABLE, SUBMODULE, SYMLINK, Content

BOT = Person("Galley Bot", "bot@mail.example.org")
REPO = "team/sub/site"


@pytest.fixture
def host() -> Iterator[GitLab]:
    double = GitLab()
    yield double
    double.close()


@pytest.fixture
def make(host: GitLab, tmp_path: Path) -> Make:
    def create(files: Mapping[str, Content]) -> Subject:
        git = Plumbing(tmp_path / "site.git", files)
        host.add(REPO, git, "grace")
        opener = partial(open_repository, host)
        return Subject(opener(REPO), git, REPO, opener)

    return create


@pytest.fixture
def good(host: GitLab) -> str:
    return host.token("grace")


@pytest.fixture
def acting(host: GitLab) -> Acting:
    return lambda supplier: GitLabRepository(host.url, RepoRef(REPO), supplier, bot=BOT)


def open_repository(host: GitLab, name: str, repository_id: str | None = None) -> GitLabRepository:
    token = host.token("grace")
    return GitLabRepository(host.url, RepoRef(name, repository_id), lambda rejected=None: token, bot=BOT)


class TestGitLab(GitContract, PathConflictContract):
    """The contract."""

    def test_commit_has_the_bot_as_author_and_the_unchanged_message(self, subject: Subject) -> None:
        """The committer is the owner of the token (contract 4.13)."""
        message = "Änderung ✓\n\nBody with  spaces\n\nCo-authored-by: A <a@mail.example.org>"
        subject.commit(FileChange("x.md", Action.CREATE, b"x"), message=message)
        assert subject.git.text("log", "-1", "--format=%B", "main") == message
        author, committer = subject.git.text("log", "-1", "--format=%an <%ae>%n%cn <%ce>", "main").splitlines()
        assert author == "Galley Bot <bot@mail.example.org>"
        assert committer == "Grace Owner <grace@mail.example.org>"


class TestGitLabMerges(MergeContract):
    """The contract of merges. GitLab has no commits with two parents, and overwrites the branch."""

    HAS_TWO_PARENTS = False
    WRITE = "POST .*/repository/commits$"

    def test_push_before_a_repeated_call_raises_branch_moved(self, diverged: Subject, host: GitLab) -> None:
        def push() -> None:
            """Push a commit that differs from the merge only by its parent."""
            diverged.git.commit({"other.md": b"pushed"}, MESSAGE, branch="work")

        host.faults.append(Fault(self.WRITE, reply=Reply(502), first=push))
        with pytest.raises(BranchMoved):
            merge(diverged, author=Person("Ada Author", "ada@mail.example.org"))
        assert diverged.git.show("other.md", "work") == b"pushed"
        assert len(host.calls(self.WRITE)) == 1

    def test_merge_without_a_response_is_detected_below_a_later_push(self, diverged: Subject, host: GitLab) -> None:
        def push() -> None:
            diverged.git.commit({"other.md": b"pushed"}, "Theirs", branch="work")

        host.faults.append(Fault(self.WRITE, lose=True))
        host.faults.append(Fault("GET .*/repository/branches/work$", skip=2, first=push))
        commit = merge(diverged)
        assert parents_of(diverged, commit.sha) == [diverged.git.head()]
        assert diverged.git.text("rev-parse", "work^") == commit.sha
        assert len(host.calls(self.WRITE)) == 1

    def test_branch_that_must_not_be_overwritten_raises_branch_protected(self, diverged: Subject, host: GitLab) -> None:
        reason = {"message": "You are not allowed to force push code to a protected branch on this project."}
        host.faults.append(Fault(self.WRITE, reply=Reply(400, reason)))
        with pytest.raises(UpstreamRejected, match="not allowed to force push") as refused:
            merge(diverged)
        assert refused.value.code == "BRANCH_PROTECTED"


class TestGitLabRevisions(RevisionsContract):
    """The contract of past commits, and incomplete comparisons of GitLab."""

    def test_comparison_beyond_the_file_limit_of_gitlab_uses_contents(self, host: GitLab, old: Subject) -> None:
        host.compare_files = 0
        self.test_comparison_equals_git_diff_numstat(old)

    def test_comparison_with_an_omitted_diff_counts_lines_from_contents(self, host: GitLab, make: Make) -> None:
        subject = make({"a.md": b"a\n" * 9, "b.png": b"\0a"})
        base = subject.git.head()
        head = subject.git.commit({"a.md": b"b\n" * 8, "b.png": b"\0b"})
        call = "GET .*/repository/compare$"
        revisions_of(subject).compare(base, head)
        diffs = host.calls(call)[-1]
        body = host.answer(diffs).body
        for diff in body["diffs"]:
            diff |= {"diff": "", "too_large": True}
        host.faults.append(Fault(call, reply=Reply(200, body)))
        files = revisions_of(subject).compare(base, head).files
        assert [(file.additions, file.deletions) for file in files] == [(8, 9), (None, None)]


class TestWritable:
    def test_writable_equals_the_permission_of_the_token(self, host: GitLab, make: Make) -> None:
        make({"a": b"a"})
        host.projects[0].members |= {"reader", "writer"}
        host.projects[0].readers.add("reader")
        for login, writes in (("reader", False), ("writer", True)):
            token = host.token(login)
            acting = GitLabRepository(host.url, RepoRef(REPO), lambda rejected=None, token=token: token, bot=BOT)
            assert acting.facts().writable is writes

    @pytest.mark.parametrize(
        ("permissions", "writes"),
        [
            (None, True),
            ({"project_access": None, "group_access": {"access_level": 40}}, True),
            ({"project_access": {"access_level": 20}, "group_access": {"access_level": 30}}, True),
            ({"project_access": {"access_level": 20}, "group_access": None}, False),
            ({"project_access": None, "group_access": None}, False),
        ],
    )
    def test_writable_uses_the_higher_of_two_roles(self, permissions: dict | None, writes: bool) -> None:
        facts = {"id": 1, "path_with_namespace": "a/b", "permissions": permissions}
        assert values.repository(facts).writable is writes


class TestGitLabFailing(RemoteContract):
    """The contract of failing hosts."""

    READS = "GET .*/repository/branches/main$"
    WRITES = "POST .*/repository/commits$"
    STEPS: ClassVar = [READS, "GET .*/repository/tree$", "HEAD .*/repository/files/", WRITES]
    RULE = "Method Not Allowed"

    def remote(self, host: GitLab) -> Project:
        return host.projects[0]

    def require_checks(self, host: GitLab, *names: str) -> None:
        self.remote(host).only_passed = True

    def set_checks(self, host: GitLab, commit: str, results: Mapping[str, str]) -> None:
        """Store a pipeline with one job for each result."""
        states = {"passed": "success", "failed": "failed", "pending": "running"}
        found = [states[result] for result in results.values()]
        if found:
            status = next(state for state in ("running", "failed", "success") if state in found)
            self.remote(host).pipelines[commit] = {"id": 1, "sha": commit, "status": status}
        self.remote(host).jobs[commit] = [
            {"name": name, "status": states[result], "allow_failure": False} for name, result in results.items()
        ]

    @pytest.mark.parametrize(
        ("status", "state"),
        [
            ("created", CheckState.PENDING),
            ("manual", CheckState.PENDING),
            ("a status of later versions", CheckState.PENDING),
            ("canceled", CheckState.FAILED),
            ("skipped", CheckState.NONE),
        ],
    )
    def test_status_of_the_pipeline_decides_the_state(
        self, subject: Subject, host: GitLab, status: str, state: CheckState
    ) -> None:
        pulls = prepare_pull_request(subject)
        pulls.create_pull_request(title="Work", head="work", base="main", body="")
        head = subject.git.head("work")
        self.remote(host).pipelines[head] = {"id": 1, "sha": head, "status": status}
        assert pulls.checks(1) == Checks(head, state)

    @pytest.mark.parametrize("is_readable", [True, False])
    def test_failed_jobs_are_named_unless_they_may_fail_or_cannot_be_read(
        self, subject: Subject, host: GitLab, is_readable: bool
    ) -> None:
        pulls = prepare_pull_request(subject)
        pulls.create_pull_request(title="Work", head="work", base="main", body="")
        head, trial = subject.git.head("work"), subject.git.head()
        at = self.remote(host)
        at.pipelines[head], at.reads_jobs = {"id": 1, "sha": trial, "status": "failed"}, is_readable
        at.jobs[trial] = [
            {"name": "may fail", "status": "failed", "allow_failure": True},
            {"name": "tests", "status": "failed", "allow_failure": False},
            {"name": "deploy", "status": "canceled", "allow_failure": False},
            {"name": "build", "status": "success", "allow_failure": False},
        ]
        names = ("deploy", "tests") if is_readable else ()
        assert pulls.checks(1) == Checks(head, CheckState.FAILED, names)

    def test_merge_without_the_permission_keeps_the_credential(self, subject: Subject, host: GitLab) -> None:
        pulls = prepare_pull_request(subject)
        pulls.create_pull_request(title="Work", head="work", base="main", body="")
        self.remote(host).no_mergers = True
        with pytest.raises(NotMergeable, match="does not let this account merge"):
            pulls.merge_pull_request(1)
        assert host.calls("PUT .*/merge$") == []

    def test_merge_that_a_hook_of_the_server_refuses_raises_with_its_message(
        self, subject: Subject, host: GitLab
    ) -> None:
        pulls = prepare_pull_request(subject)
        pulls.create_pull_request(title="Work", head="work", base="main", body="")
        self.remote(host).hook_error = "Commit message does not name an issue"
        with pytest.raises(NotMergeable, match="does not name an issue"):
            pulls.merge_pull_request(1)
        assert pulls.pull_request(1).state is PullRequestState.OPEN

    @pytest.mark.parametrize(("times", "is_merged"), [(2, True), (9, False)])
    def test_merge_waits_until_a_new_merge_request_is_prepared(
        self, subject: Subject, host: GitLab, times: int, is_merged: bool
    ) -> None:
        pulls = prepare_pull_request(subject)
        pulls.create_pull_request(title="Work", head="work", base="main", body="")
        self.remote(host).unprepared = times
        if is_merged:
            assert pulls.merge_pull_request(1).sha == subject.git.head()
        else:
            with pytest.raises(UpstreamUnavailable):
                pulls.merge_pull_request(1)
        assert ("work.md" in subject.git.entries()) is is_merged

    @pytest.mark.parametrize("lose", [True, False])
    def test_merge_by_fast_forward_is_a_squash_or_the_head(self, subject: Subject, host: GitLab, lose: bool) -> None:
        pulls = prepare_pull_request(subject)
        self.remote(host).merge_method = "ff"
        old, head = subject.git.head(), subject.git.head("work")
        pulls.create_pull_request(title="Work", head="work", base="main", body="")
        host.faults.append(Fault("PUT .*/merge$", times=2 * lose, lose=True))
        assert pulls.merge_pull_request(1).sha == head == subject.git.head()
        subject.git.commit({"more.md": b"more"}, branch="work")
        pulls.create_pull_request(title="Work", head="work", base="main", body="")
        merged = pulls.merge_pull_request(2, message="One line", is_squash=True)
        assert merged.sha == subject.git.head()
        assert subject.git.text("log", "--format=%P %B", f"{old}..main").split("\n")[0] == f"{head} One line"
        assert pulls.pull_request(2).merge_sha == merged.sha

    def test_push_of_another_file_before_the_commit_is_the_parent(self, subject: Subject, host: GitLab) -> None:
        head = subject.git.head()
        host.faults.append(Fault(self.WRITES, first=lambda: subject.git.commit({"other.md": b"pushed"}, "Theirs")))
        commit = subject.commit(FileChange("a.md", Action.UPDATE, b"mine\n"), message="Mine")
        assert subject.git.commits() == [commit.sha, commit.parent, head]
        assert {"other.md", "a.md"} <= set(subject.git.entries())

    def test_push_between_check_and_update_of_the_branch_raises_branch_moved(
        self, subject: Subject, host: GitLab
    ) -> None:
        host.racing = lambda: subject.git.commit({"other.md": b"pushed"}, "Theirs")
        with pytest.raises(BranchMoved):
            self.write(subject)
        assert subject.git.show("other.md") == b"pushed"
        assert subject.git.show("a.md") == b"one\n"

    def test_push_of_the_same_file_after_the_check_is_restored(self, subject: Subject, host: GitLab) -> None:
        host.after_check = lambda: subject.git.commit({"a.md": b"theirs\n"}, "Theirs")
        with pytest.raises(PathConflict) as conflict:
            self.write(subject)
        assert conflict.value.paths == ("a.md",)
        assert subject.git.show("a.md") == b"theirs\n"
        assert set(subject.git.entries()) == {"a.md", "docs/b.md"}

    def test_push_of_another_file_after_the_check_is_the_parent(self, subject: Subject, host: GitLab) -> None:
        pushed: list[str] = []
        host.after_check = lambda: pushed.append(subject.git.commit({"other.md": b"pushed"}, "Theirs"))
        commit = subject.commit(FileChange("a.md", Action.UPDATE, b"mine\n"), message="Mine")
        assert commit.parent == pushed[0]
        assert subject.git.show("a.md") == b"mine\n"
        assert subject.git.show("other.md") == b"pushed"

    def test_create_of_a_file_that_a_push_created_raises_branch_moved(self, subject: Subject, host: GitLab) -> None:
        host.faults.append(Fault(self.WRITES, first=lambda: subject.git.commit({"new.md": b"theirs"}, "Theirs")))
        with pytest.raises(BranchMoved):
            self.write(subject)
        assert subject.git.show("new.md") == b"theirs"

    def test_delete_branch_of_a_protected_branch_raises_upstream_rejected(self, subject: Subject, host: GitLab) -> None:
        subject.git.commit({"w.md": b"w"}, branch="work", start=subject.git.head())
        host.projects[0].protected.add("work")
        with pytest.raises(UpstreamRejected) as caught:
            subject.repository.delete_branch("work")
        assert caught.value.code == "BRANCH_PROTECTED"
        assert subject.git.head("work")

    def test_commit_on_a_protected_branch_raises_with_the_reason_of_the_host(
        self, subject: Subject, host: GitLab
    ) -> None:
        host.projects[0].protected.add("main")
        with pytest.raises(UpstreamRejected, match="not allowed to push") as refused:
            self.write(subject)
        assert refused.value.code == "BRANCH_PROTECTED"

    def test_commit_of_several_changes_sends_one_call(self, subject: Subject, host: GitLab) -> None:
        self.write(subject)
        [call] = host.calls("POST")
        assert [act["action"] for act in call.data["actions"]] == ["update", "create"]
        assert call.data["actions"][0]["last_commit_id"] == subject.git.commits()[1]

    def test_exhausted_budget_raises_throttled_with_the_time_of_its_reset(self, subject: Subject, host: GitLab) -> None:
        host.budget = dict.fromkeys(("Bearer " + token for token in host.grants), 0)
        with pytest.raises(UpstreamThrottled) as told:
            subject.repository.head("main")
        assert told.value.retry_after_s == 50

    def test_renamed_project_is_read_by_its_id(self, subject: Subject, host: GitLab) -> None:
        host.projects[0].name = "team/renamed"
        known = subject.open(REPO, str(host.projects[0].id))
        assert known.head("main") == subject.git.head()
        assert known.facts().full_name == "team/renamed"

    def test_project_without_membership_raises_repository_unavailable(self, subject: Subject, host: GitLab) -> None:
        host.projects[0].members.clear()
        with pytest.raises(RepositoryUnavailable):
            list(subject.repository.tree(subject.git.head()))


class TestTrees:
    """Paginated trees, and comparisons beyond the limits of GitLab."""

    def test_tree_of_many_pages_equals_that_of_git(self, host: GitLab, make: Make) -> None:
        subject = make({f"d{n % 30:02}/f{n:04}.md": b"%d\n" % n for n in range(1500)})
        entries = list(subject.repository.tree(subject.git.head()))
        assert [entry.path for entry in entries] == list(subject.git.entries())
        assert len(host.calls("GET .*/repository/tree$")) == 16

    def test_entries_of_a_large_folder_are_read_individually(self, host: GitLab, make: Make) -> None:
        files: dict[str, Content] = {f"posts/f{n:04}.md": b"%d\n" % n for n in range(700)}
        odd: dict[str, Content] = {
            "posts/x-run.sh": (EXECUTABLE, b"#!/bin/sh\n"),
            "posts/y-link": (SYMLINK, b"f0001.md"),
            "posts/z-line": b"no end",
        }
        subject = make(files | odd | {"posts/zz/in.md": b"in\n", "a.md": b"a"})
        host.journal.clear()
        paths = ["posts/f0699.md", "posts/x-run.sh", "posts/none.md", "posts/zz", "a.md"]
        entries = subject.repository.entries(subject.git.head(), paths)
        witness = subject.git.entries()
        assert entries.pop("posts/zz").type == "tree"
        assert {path: e[1:4] for path, e in entries.items()} == {path: witness[path][:3] for path in entries}
        assert set(entries) == {"posts/f0699.md", "posts/x-run.sh", "a.md"}
        assert len(host.journal) <= 12

    def test_symlink_in_a_large_folder_has_the_mode_of_a_symlink(self, make: Make) -> None:
        files: dict[str, Content] = {f"f{n:04}.md": b"%d\n" % n for n in range(400)}
        subject = make(files | {"y-link": (SYMLINK, b"f0001.md"), "z-line": b"no end"})
        entries = subject.repository.entries(subject.git.head(), ["y-link", "z-line"])
        assert (entries["y-link"].mode, entries["z-line"].mode) == (SYMLINK, "100644")

    def test_changes_contain_a_submodule_in_a_large_folder(self, make: Make) -> None:
        subject = make({f"f{n:04}.md": b"%d\n" % n for n in range(400)})
        old = subject.git.head()
        new = subject.git.commit({"z-theme": (SUBMODULE, "5a1e" * 10)})
        [change] = subject.repository.changes(old, new)
        assert change.entry
        assert change.entry[:4] == ("z-theme", "commit", SUBMODULE, "5a1e" * 10)

    def test_commit_into_a_large_folder_sends_at_most_16_calls(self, host: GitLab, make: Make) -> None:
        subject = make({f"posts/f{n:04}.md": b"%d\n" % n for n in range(2000)})
        host.journal.clear()
        subject.commit(
            FileChange("posts/new.md", Action.CREATE, b"new\n"),
            FileChange("posts/f1999.md", Action.UPDATE, b"changed\n"),
        )
        assert len(host.journal) <= 16
        with pytest.raises(PathConflict):
            subject.commit(FileChange("posts/new.md", Action.CREATE, b"again\n"))

    @pytest.mark.parametrize("fault", [{"cut": True}, {"lose": True}, {"reply": Reply(502)}])
    def test_failed_page_of_a_tree_is_retried(self, host: GitLab, make: Make, fault: dict[str, Any]) -> None:
        subject = make({f"f{n:03}.md": b"x" for n in range(350)})
        host.faults.append(Fault("GET .*/repository/tree$", skip=2, **fault))
        assert len(list(subject.repository.tree(subject.git.head()))) == 350

    def test_permanently_failing_page_raises_and_yields_no_entries(self, host: GitLab, make: Make) -> None:
        subject = make({f"f{n:03}.md": b"x" for n in range(350)})
        host.faults.append(Fault("GET .*/repository/tree$", skip=2, times=99, reply=Reply(502)))
        items = []
        with pytest.raises(UpstreamError):
            items.extend(subject.repository.tree(subject.git.head()))
        assert items == []

    def test_changes_beyond_the_limit_of_a_comparison_are_read_from_complete_trees(
        self, host: GitLab, make: Make
    ) -> None:
        host.compare_files = 10
        subject = make({f"f{n:03}.md": b"x%d" % n for n in range(50)})
        old = subject.git.head()
        new = subject.git.commit({f"f{n:03}.md": b"changed" for n in range(40)})
        assert len(list(subject.repository.changes(old, new))) == 40
        [info] = subject.repository.history(new, since=old)
        assert len(info.paths) == 40

    def test_history_of_a_merge_contains_only_its_own_paths(self, make: Make) -> None:
        subject = make({"a.md": b"a", "b.md": b"b"})
        base = subject.git.head()
        side = subject.git.commit({"b.md": b"side"}, branch="side", start=base)
        subject.git.commit({"a.md": b"main"})
        merged = subject.git.commit({"b.md": b"both"}, "Merge", merge=side)
        found = {info.sha: info.paths for info in subject.repository.history(merged, since=base)}
        assert found[merged] == ("b.md",)
        assert len(found) == 3
