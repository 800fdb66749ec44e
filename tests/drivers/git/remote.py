"""The contract of failing remote hosts: a suite that the tests of each driver inherit.

A module defines `make` (see `contract`), `host`, its double, and `acting`: a provider with a given token supplier.
"""

import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, ClassVar

import pytest

from app.drivers.errors import (
    DriverError,
    ReconnectRequired,
    UpstreamError,
    UpstreamRejected,
    UpstreamThrottled,
    UpstreamTimeout,
    UpstreamUnavailable,
)
from app.drivers.git.errors import BranchMoved, GitObjectMissing, RepositoryUnavailable
from app.drivers.git.port import (
    Action,
    Checks,
    CheckState,
    FileChange,
    Merged,
    NotMergeable,
    PullRequestExists,
    PullRequests,
    PullRequestState,
    Repository,
)
from app.drivers.git.rest.tokens import TokenSupplier
from tests.drivers.git.contract import Make, Subject
from tests.support.doubles.server import Call, Double, Fault, Reply

CREATE, UPDATE = Action.CREATE, Action.UPDATE
Acting = Callable[[TokenSupplier], Repository]


class RemoteContract:
    """The tests of failing hosts. Subclasses define `make`, `host`, `acting`, and the calls that read and write."""

    READS: ClassVar[str]  # the call of `head`
    WRITES: ClassVar[str]  # the call with which a commit takes effect
    STEPS: ClassVar[list[str]]  # every call of a commit
    RULE: ClassVar[str]  # text of the host for a merge without the required checks

    def remote(self, host: Any) -> Any:
        """Return the repository of the double."""
        raise NotImplementedError

    def require_checks(self, host: Any, *names: str) -> None:
        """Let the host refuse merges without these checks."""
        raise NotImplementedError

    def set_checks(self, host: Any, commit: str, results: Mapping[str, str]) -> None:
        """Store results of checks: `passed`, `failed` or `pending` by name."""
        raise NotImplementedError

    @pytest.fixture
    def subject(self, make: Make) -> Subject:
        return make({"a.md": b"one\n", "docs/b.md": b"two\n"})

    def write(self, subject: Subject) -> str:
        changes = [FileChange("a.md", UPDATE, b"mine\n"), FileChange("new.md", CREATE, b"new\n")]
        return subject.commit(*changes, message="Mine").sha

    def is_written_once(self, subject: Subject) -> bool:
        mine = subject.git.text("log", "--format=%H", "--grep=^Mine$", "main").split()
        return len(mine) == 1 and subject.git.show("a.md") == b"mine\n" and subject.git.show("new.md") == b"new\n"

    # Temporary failures

    @pytest.mark.parametrize("status", [408, 425, 500, 502, 503, 504])
    def test_temporary_failure_of_a_read_is_retried(self, subject: Subject, host: Double, status: int) -> None:
        host.faults.append(Fault(self.READS, reply=Reply(status, b"<html>oops")))
        assert subject.repository.head("main") == subject.git.head()
        assert len(host.calls(self.READS)) == 2

    @pytest.mark.parametrize("fault", [{"lose": True}, {"cut": True}])
    def test_missing_or_truncated_response_of_a_read_is_retried(
        self, subject: Subject, host: Double, fault: dict
    ) -> None:
        host.faults.append(Fault(self.READS, times=2, **fault))
        assert subject.repository.head("main") == subject.git.head()

    @pytest.mark.parametrize(
        ("status", "kind"),
        [(500, UpstreamError), (502, UpstreamError), (503, UpstreamUnavailable), (504, UpstreamTimeout)],
    )
    def test_permanent_failure_raises_after_four_attempts(
        self, subject: Subject, host: Double, status: int, kind: type
    ) -> None:
        host.faults.append(Fault(self.READS, times=99, reply=Reply(status)))
        with pytest.raises(kind):
            subject.repository.head("main")
        assert len(host.calls(self.READS)) == 4

    def test_html_response_raises_upstream_error(self, subject: Subject, host: Double) -> None:
        host.faults.append(Fault(self.READS, times=99, reply=Reply(200, b"<html>maintenance</html>")))
        with pytest.raises(UpstreamError):
            subject.repository.head("main")

    @pytest.mark.parametrize("body", [[], {}, {"commit": 7}, "text", None, {"object": []}])
    def test_json_of_another_shape_raises_upstream_error(self, subject: Subject, host: Double, body: object) -> None:
        host.faults.append(Fault(self.READS, reply=Reply(200, b"null" if body is None else body)))
        with pytest.raises(UpstreamError):
            subject.repository.head("main")

    def test_renamed_repository_is_unavailable(self, subject: Subject, host: Double) -> None:
        host.faults.append(Fault(self.READS, reply=Reply(301, {"message": "Moved"}, {"Location": f"{host.url}/else"})))
        with pytest.raises(RepositoryUnavailable):
            subject.repository.head("main")
        assert host.calls("/else") == []

    def test_endless_pages_raise_upstream_error(self, subject: Subject, host: Double) -> None:
        link = {"Link": f'<{host.url}/x?page=2&per_page=100>; rel="next"'}
        page = host.answer(_branches_call(host, subject))
        host.faults.append(Fault("GET .*/branches$", times=99, reply=Reply(200, page.body, link)))
        with pytest.raises(UpstreamError):
            subject.repository.branches()
        assert len(host.calls("GET .*/branches$")) <= 3

    def test_link_to_another_host_is_requested_from_the_configured_host(self, subject: Subject, host: Double) -> None:
        page = host.answer(_branches_call(host, subject))
        link = {"Link": '<http://127.0.0.1:9/steal?page=2&per_page=100>; rel="next"'}
        host.faults.append(Fault("GET .*/branches$", reply=Reply(200, page.body, link)))
        assert {branch.name for branch in subject.repository.branches()} == {"main"}
        assert [call.one("page") for call in host.calls("GET .*/branches$")] == ["", "", "2"]

    # Rates

    def test_requested_wait_is_observed(self, subject: Subject, host: Double) -> None:
        host.faults.append(Fault(self.READS, reply=Reply(429, b"Retry later", {"Retry-After": "1"})))
        start = time.monotonic()
        assert subject.repository.head("main") == subject.git.head()
        assert time.monotonic() - start >= 1

    def test_wait_beyond_the_deadline_raises_throttled_with_the_wait(self, subject: Subject, host: Double) -> None:
        host.faults.append(Fault(self.READS, reply=Reply(429, b"Retry later", {"Retry-After": "45"})))
        with pytest.raises(UpstreamThrottled) as told:
            subject.repository.head("main")
        assert told.value.retry_after_s == 45
        assert len(host.calls(self.READS)) == 1

    def test_throttled_token_sends_no_call_until_the_end_of_the_wait(self, subject: Subject, host: Double) -> None:
        host.faults.append(Fault(self.READS, reply=Reply(429, b"Retry later", {"Retry-After": "45"})))
        for _ in range(2):
            with pytest.raises(UpstreamThrottled):
                subject.repository.head("main")
        assert len(host.calls(self.READS)) == 1

    # Credentials

    def test_refused_token_is_renewed_once(self, subject: Subject, host: Double, acting: Acting, good: str) -> None:
        asked: list[str | None] = []

        def supply(rejected: str | None = None) -> str:
            asked.append(rejected)
            return good if rejected else "expired"

        provider = acting(supply)
        assert provider.head("main") == subject.git.head()
        assert asked == [None, "expired"]
        assert [call.status for call in host.calls(self.READS)] == [401, 200]

    def test_rejected_renewed_token_raises_reconnect_required(
        self, subject: Subject, host: Double, acting: Acting
    ) -> None:
        tokens = iter(["expired", "expired too", "never asked"])
        with pytest.raises(ReconnectRequired):
            acting(lambda rejected=None: next(tokens)).head("main")
        assert len(host.calls(self.READS)) == 2

    def test_parallel_rejected_calls_renew_the_token_once(
        self, subject: Subject, host: Double, acting: Acting, good: str
    ) -> None:
        asked: list[str | None] = []

        def supply(rejected: str | None = None) -> str:
            asked.append(rejected)
            time.sleep(0.1)
            return good if rejected else "expired"

        provider = acting(supply)
        threads = [threading.Thread(target=provider.head, args=("main",)) for _ in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert asked == [None, "expired"]

    # Commits

    def test_missing_response_of_any_step_creates_one_commit(self, subject: Subject, host: Double) -> None:
        for number, step in enumerate(self.STEPS):
            host.faults.append(Fault(step, lose=True))
            path = f"step{number}.md"
            subject.commit(FileChange(path, CREATE, path.encode()), message=f"Step {number}")
            assert subject.git.show(path) == path.encode(), step
        assert len(subject.git.commits()) == 1 + len(self.STEPS)

    def test_commit_without_a_response_is_detected_on_the_branch(self, subject: Subject, host: Double) -> None:
        host.faults.append(Fault(self.WRITES, lose=True))
        sha = self.write(subject)
        assert sha == subject.git.head()
        assert self.is_written_once(subject)
        assert len(host.calls(self.WRITES)) == 1

    def test_commit_that_failed_without_effect_is_repeated(self, subject: Subject, host: Double) -> None:
        host.faults.append(Fault(self.WRITES, reply=Reply(502, b"<html>Bad gateway")))
        assert self.write(subject) == subject.git.head()
        assert self.is_written_once(subject)

    def test_commit_without_a_response_is_detected_below_a_later_push(self, subject: Subject, host: Double) -> None:
        def push() -> None:
            subject.git.commit({"other.md": b"pushed\n"}, "Theirs")

        host.faults.append(Fault(self.WRITES, lose=True))
        host.faults.append(Fault(self.READS, skip=2, first=push))
        sha = self.write(subject)
        assert sha in subject.git.commits()
        assert self.is_written_once(subject)

    def test_push_of_the_same_file_before_the_commit_raises_branch_moved(self, subject: Subject, host: Double) -> None:
        def push() -> None:
            subject.git.commit({"a.md": b"theirs\n"}, "Theirs")

        host.faults.append(Fault(self.WRITES, first=push))
        with pytest.raises(BranchMoved):
            self.write(subject)
        assert subject.git.show("a.md") == b"theirs\n"
        assert "new.md" not in subject.git.entries()
        assert len(subject.git.commits()) == 2

    def test_permanently_failing_host_keeps_the_branch(self, subject: Subject, host: Double) -> None:
        head = subject.git.head()
        host.faults.append(Fault(self.WRITES, times=99, reply=Reply(502)))
        with pytest.raises(DriverError):
            self.write(subject)
        assert subject.git.head() == head

    @pytest.mark.parametrize("fault", [{"lose": True}, {"reply": Reply(502)}])
    def test_merge_that_failed_or_has_no_response_takes_effect_once(
        self, subject: Subject, host: Double, fault: dict
    ) -> None:
        start = subject.git.head()
        merged = subject.git.commit({"w.md": b"w"}, branch="work", start=start)
        subject.git.commit({"a.md": b"two\n"})
        host.faults.append(Fault(self.WRITES, **fault))
        commit = subject.repository.commit_merge("main", [], "Mine", merged=merged, expected_head=subject.git.head())
        assert commit.sha == subject.git.head()
        assert subject.git.text("log", "--format=%H", "--grep=^Mine$", "main").split() == [commit.sha]
        assert set(subject.git.entries()) == {"a.md", "docs/b.md", "w.md"}

    def test_created_branch_without_a_response_is_returned(self, subject: Subject, host: Double) -> None:
        host.faults.append(Fault("POST .*(refs|branches)$", lose=True))
        made = subject.repository.create_branch("work", subject.git.head())
        assert made.sha == subject.git.head("work")
        assert len(host.calls("POST .*(refs|branches)$")) == 1

    def test_delete_branch_without_a_response_is_successful(self, subject: Subject, host: Double) -> None:
        subject.git.commit({"w.md": b"w"}, branch="work", start=subject.git.head())
        host.faults.append(Fault("DELETE ", lose=True))
        subject.repository.delete_branch("work")
        assert [branch.name for branch in subject.repository.branches()] == ["main"]

    # Pull requests

    def test_pull_request_is_created_listed_and_merged(self, subject: Subject) -> None:
        pulls = prepare_pull_request(subject)
        made = pulls.create_pull_request(title="Work", head="work", base="main", body="Please")
        assert (made.number, made.state, made.head, made.base) == (1, PullRequestState.OPEN, "work", "main")
        assert pulls.pull_requests() == [made]
        assert pulls.merge_pull_request(made.number) == Merged(subject.git.head(), "main")
        assert subject.git.show("work.md") == b"work"
        assert pulls.pull_requests()[0].state is PullRequestState.MERGED

    def test_pull_request_is_created_and_merged_once(self, subject: Subject) -> None:
        pulls = prepare_pull_request(subject)
        pulls.create_pull_request(title="Work", head="work", base="main", body="")
        with pytest.raises(PullRequestExists):
            pulls.create_pull_request(title="Again", head="work", base="main", body="")
        pulls.merge_pull_request(1)
        with pytest.raises(NotMergeable):
            pulls.merge_pull_request(1)

    def test_pull_request_and_merge_without_a_response_are_detected(self, subject: Subject, host: Double) -> None:
        pulls = prepare_pull_request(subject)
        host.faults.append(Fault("POST .*(pulls|merge_requests)$", lose=True))
        host.faults.append(Fault("PUT .*/merge$", lose=True))
        made = pulls.create_pull_request(title="Work", head="work", base="main", body="")
        assert pulls.merge_pull_request(made.number) == Merged(subject.git.head(), "main")

    def test_conflicting_pull_request_raises_not_mergeable(self, subject: Subject) -> None:
        pulls = prepare_pull_request(subject)
        pulls.create_pull_request(title="Work", head="work", base="main", body="")
        head = subject.git.commit({"work.md": b"theirs"})
        with pytest.raises(NotMergeable):
            pulls.merge_pull_request(1)
        assert subject.git.head() == head

    def test_unknown_pull_request_raises_object_missing(self, subject: Subject) -> None:
        pulls = prepare_pull_request(subject)
        for call in (pulls.pull_request, pulls.checks, pulls.merge_pull_request):
            with pytest.raises(GitObjectMissing):
                call(7)

    def test_pull_request_has_the_head_of_its_branch_and_the_commit_of_its_merge(self, subject: Subject) -> None:
        pulls = prepare_pull_request(subject)
        made = pulls.create_pull_request(title="Work", head="work", base="main", body="")
        assert (made.head_sha, made.merge_sha) == (subject.git.head("work"), None)
        head = subject.git.commit({"more.md": b"more"}, branch="work")
        assert pulls.pull_request(1) == replace(made, head_sha=head)
        merged = pulls.merge_pull_request(1)
        read = pulls.pull_request(1)
        assert (read.state, read.head_sha, read.merge_sha) == (PullRequestState.MERGED, head, merged.sha)
        subject.git.commit({"later.md": b"later"}, branch="work")
        subject.git.commit({"later.md": b"later"})
        assert pulls.pull_requests() == [read]

    def test_closed_pull_request_raises_not_mergeable(self, subject: Subject) -> None:
        pulls = prepare_pull_request(subject)
        made = pulls.create_pull_request(title="Work", head="work", base="main", body="")
        subject.git.git("branch", "-D", "work")
        assert pulls.pull_request(1) == replace(made, state=PullRequestState.CLOSED)
        with pytest.raises(NotMergeable):
            pulls.merge_pull_request(1)

    @pytest.mark.parametrize("is_squash", [True, False])
    @pytest.mark.parametrize("lose", [True, False])
    def test_merge_with_a_message_adds_it_to_the_branch(
        self, subject: Subject, host: Double, is_squash: bool, lose: bool
    ) -> None:
        pulls = prepare_pull_request(subject)
        head = subject.git.commit({"more.md": b"more"}, branch="work")
        pulls.create_pull_request(title="Work", head="work", base="main", body="")
        old = subject.git.commit({"a.md": b"theirs\n"})
        message = "Publish änderung ✓\n\nBody with  spaces\n\nReviewed-by: A <a@mail.example.org>"
        host.faults.append(Fault("PUT .*/merge$", times=int(lose), lose=True))
        merged = pulls.merge_pull_request(
            1, message=message, is_squash=is_squash, expected_head=subject.git.head("work")
        )
        assert merged == Merged(subject.git.head(), "main")
        assert subject.git.text("log", "-1", "--format=%B", "main") == message
        assert subject.git.text("rev-list", "--first-parent", f"{old}..main").split() == [merged.sha]
        assert subject.repository.is_ancestor(head, merged.sha) is not is_squash
        assert {subject.git.show(path) for path in ("a.md", "work.md", "more.md")} == {b"theirs\n", b"work", b"more"}

    @pytest.mark.parametrize("message", ["", " \n", "a\0b"])
    def test_merge_with_an_invalid_message_sends_no_call(self, subject: Subject, host: Double, message: str) -> None:
        pulls = prepare_pull_request(subject)
        pulls.create_pull_request(title="Work", head="work", base="main", body="")
        with pytest.raises(UpstreamRejected) as refused:
            pulls.merge_pull_request(1, message=message)
        assert refused.value.code == "INVALID_MESSAGE"
        assert host.calls("PUT ") == []

    def test_merge_of_another_head_raises_branch_moved(self, subject: Subject, host: Double) -> None:
        pulls = prepare_pull_request(subject)
        pulls.create_pull_request(title="Work", head="work", base="main", body="")
        old, head = subject.git.head("work"), subject.git.head()

        def push() -> None:
            subject.git.commit({"more.md": b"more"}, branch="work")

        host.faults.append(Fault("PUT .*/merge$", first=push))
        for _ in range(2):
            with pytest.raises(BranchMoved):
                pulls.merge_pull_request(1, is_squash=True, expected_head=old)
        assert subject.git.head() == head
        pulls.merge_pull_request(1, expected_head=subject.git.head("work"))
        assert subject.git.show("more.md") == b"more"

    @pytest.mark.parametrize(("delays", "is_merged"), [(2, True), (9, False)])
    def test_merge_waits_until_the_host_has_processed_the_head(
        self, subject: Subject, host: Double, delays: int, is_merged: bool
    ) -> None:
        pulls = prepare_pull_request(subject)
        pulls.create_pull_request(title="Work", head="work", base="main", body="")
        self.remote(host).delayed_heads = delays
        head = subject.git.head("work")
        if is_merged:
            assert pulls.merge_pull_request(1, expected_head=head).sha == subject.git.head()
        else:
            with pytest.raises(UpstreamUnavailable):
                pulls.merge_pull_request(1, expected_head=head)
        assert ("work.md" in subject.git.entries()) is is_merged

    def test_protected_branch_accepts_a_merge_and_no_commit(self, subject: Subject, host: Double) -> None:
        pulls = prepare_pull_request(subject)
        pulls.create_pull_request(title="Work", head="work", base="main", body="")
        self.remote(host).protected.add("main")
        with pytest.raises(UpstreamRejected) as refused:
            self.write(subject)
        assert refused.value.code == "BRANCH_PROTECTED"
        assert pulls.merge_pull_request(1).sha == subject.git.head()

    @pytest.mark.parametrize(
        ("results", "state", "failed"),
        [
            ({}, CheckState.NONE, ()),
            ({"build": "pending"}, CheckState.PENDING, ()),
            ({"build": "passed", "links": "passed"}, CheckState.PASSED, ()),
            ({"build": "passed", "links": "pending"}, CheckState.PENDING, ()),
            ({"build": "passed", "spelling": "failed", "links": "failed"}, CheckState.FAILED, ("links", "spelling")),
        ],
    )
    def test_checks_of_the_head_decide_on_the_merge(
        self, subject: Subject, host: Double, results: dict[str, str], state: CheckState, failed: tuple[str, ...]
    ) -> None:
        pulls = prepare_pull_request(subject)
        pulls.create_pull_request(title="Work", head="work", base="main", body="")
        head, before = subject.git.head("work"), subject.git.head()
        self.require_checks(host, "build", "links")
        self.set_checks(host, head, results)
        assert pulls.checks(1) == Checks(head, state, failed)
        if state is CheckState.PASSED:
            assert pulls.merge_pull_request(1).sha == subject.git.head() != before
        else:
            with pytest.raises(NotMergeable, match=self.RULE):
                pulls.merge_pull_request(1)
            assert subject.git.head() == before

    def test_checks_belong_to_the_newest_commit(self, subject: Subject, host: Double) -> None:
        pulls = prepare_pull_request(subject)
        pulls.create_pull_request(title="Work", head="work", base="main", body="")
        self.set_checks(host, subject.git.head("work"), {"build": "failed"})
        head = subject.git.commit({"more.md": b"more"}, branch="work")
        assert pulls.checks(1) == Checks(head, CheckState.NONE)

    def test_all_failed_checks_of_a_long_list_are_named(self, subject: Subject, host: Double) -> None:
        pulls = prepare_pull_request(subject)
        pulls.create_pull_request(title="Work", head="work", base="main", body="")
        names = [f"job {number:03}" for number in range(150)]
        self.set_checks(host, subject.git.head("work"), dict.fromkeys(names, "failed"))
        assert pulls.checks(1).failed == tuple(names)

    def test_refusal_that_is_not_about_the_pull_request_raises_upstream_rejected(
        self, subject: Subject, host: Double
    ) -> None:
        pulls = prepare_pull_request(subject)
        pulls.create_pull_request(title="Work", head="work", base="main", body="")
        host.faults.append(Fault("PUT .*/merge$", reply=Reply(403, {"message": "No access for this app"})))
        with pytest.raises(UpstreamRejected, match="No access for this app"):
            pulls.merge_pull_request(1)

    def test_pull_request_of_an_unknown_branch_is_refused(self, subject: Subject) -> None:
        with pytest.raises(DriverError):
            prepare_pull_request(subject).create_pull_request(title="x", head="nowhere", base="main", body="")


def prepare_pull_request(subject: Subject) -> PullRequests:
    """Create a branch `work` with a commit and return the pull requests of the provider."""
    subject.git.commit({"work.md": b"work"}, branch="work", start=subject.git.head())
    assert isinstance(subject.repository, PullRequests)
    return subject.repository


def _branches_call(host: Double, subject: Subject) -> Call:
    """Return the request of the provider for the branches."""
    subject.repository.branches()
    return host.calls("GET .*/branches$")[-1]
