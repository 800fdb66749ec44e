"""Tests of change sets at remote Git hosts: protected branches, changes made at the host, and lost responses."""

from typing import Any

import pytest
import sqlalchemy as sa
from flask import Flask

from app.extensions import db
from app.models.base import utcnow_ms
from app.models.change_set import ChangeSet
from app.resources.change_set import jobs
from tests.resources.change_set.conftest import OTHER, PAGE, TEXT, Team, mails_of, run_due, update
from tests.resources.change_set.remote_sets import GitHubSide, GitLabSide, RemoteSide, refusal, run
from tests.support.git_hosts import Hosts

pytestmark = [pytest.mark.slow, pytest.mark.parametrize("provider", ["github", "gitlab"]), pytest.mark.one_database]

NEW = TEXT.replace("First", "New")
MOST_CALLS = {("github", False): 18, ("github", True): 24, ("gitlab", False): 18, ("gitlab", True): 25}
TIME = {"wall_time": "2027-03-01T08:00", "timezone": "Europe/Berlin", "action": "publish"}


@pytest.fixture(scope="session")
def app(hosted: tuple[Flask, Hosts]) -> Flask:
    """The application whose Git hosts are doubles."""
    return hosted[0]


@pytest.fixture
def side(team: Team, hosts: Hosts, provider: str) -> RemoteSide:
    """The repository of the team at its host."""
    return (GitHubSide if provider == "github" else GitLabSide)(team, hosts)


def follow_requests(team: Team) -> None:
    run(team, "change_sets.follow_requests")


def publications(team: Team, made: dict[str, Any]) -> list[str]:
    """Return the commits of the working branch, without those of merged branches, that name a set."""
    log = team.repo.text("log", "--first-parent", "--format=%H", f"--grep=^Galley-Change-Set: {made['id']}$", "main")
    return log.split()


def assert_published(team: Team, made: dict[str, Any]) -> dict[str, Any]:
    """Check that a set was published once, and that its branch was deleted."""
    team.world.work_off()
    row = team.read(made)
    assert (row["state"], row["problem"]) == ("published", None)
    assert publications(team, made) == [row["published_sha"]]
    assert made["branch"] not in team.repo.text("branch", "--format=%(refname:short)").split()
    return row


class TestProtectedBranch:
    def test_set_is_merged_when_its_check_has_passed(self, team: Team, side: RemoteSide) -> None:
        side.protect()
        side.require_check()
        made, base = team.approved(), team.repo.head()
        answer = team.call(made, "publish")
        waiting = answer.ok(202)
        assert (waiting["state"], bool(waiting["problem"])) == ("publishing", True)
        for step in ("publish", "submit", "revert"):
            team.call(made, step).fails(409, "STATE")
        run(team, "change_sets.finish_publication", change_set_id=made["id"])
        for state in ("pending", "success"):
            follow_requests(team)
            assert (team.read(made)["state"], team.repo.head()) == ("publishing", base)
            side.set_check(made["head_sha"], state)
        follow_requests(team)
        row = assert_published(team, made)
        assert len(side.requests) == 1
        assert row["published_sha"] == team.repo.head()
        message = team.repo.text("log", "-1", "--format=%B")
        assert message.startswith("New words\n\nCo-authored-by: Person ")
        assert team.repo.show(PAGE).decode() == NEW
        log = team.owner.get(f"/project-log/{team.project}").ok()["logs"]
        assert [(entry["file"], entry["commit_sha"]) for entry in log[:1]] == [(PAGE, row["published_sha"])]
        assert log[0]["source"] == "commit"
        undo = team.call(made, "revert").ok(201)
        assert team.repo.show(PAGE, undo["branch"]).decode() == TEXT

    def test_set_without_required_checks_is_merged_at_once(self, team: Team, side: RemoteSide) -> None:
        side.protect()
        made = team.approved()
        assert team.call(made, "publish").ok()["state"] == "published"
        assert_published(team, made)

    def test_moved_base_is_merged_by_field_before_and_while_the_host_waits(self, team: Team, side: RemoteSide) -> None:
        side.protect()
        side.require_check()
        made = team.approved(text=NEW.replace("title: Hello", "title: Mine"))
        team.repo.commit({PAGE: TEXT.replace("[a, b]", "[a, b, c]").encode(), OTHER: b"# Other\n"})
        team.call(made, "publish").ok(202)
        first = team.read(made)
        assert (first["approvals"], first["files"], first["base_sha"]) == (1, 1, team.repo.head())
        expected = NEW.replace("title: Hello", "title: Mine").replace("[a, b]", "[a, b, c]")
        assert team.repo.show(PAGE, made["branch"]).decode() == expected
        team.repo.commit({PAGE: TEXT.replace("[a, b]", "[a, b, c, d]").encode()})
        side.set_check(first["head_sha"], "success")
        follow_requests(team)
        second = team.read(made)
        assert (second["state"], second["base_sha"]) == ("publishing", team.repo.head())
        assert second["head_sha"] != first["head_sha"]
        side.set_check(second["head_sha"], "success")
        follow_requests(team)
        assert_published(team, made)
        assert team.repo.show(PAGE).decode() == expected.replace("[a, b, c]", "[a, b, c, d]")
        assert team.repo.show(OTHER) == b"# Other\n"
        message = team.repo.text("log", "-1", "--format=%B")
        assert message.count("Co-authored-by: Person ") == 1
        assert team.editor.email in message

    def test_conflict_with_a_protected_branch_keeps_the_state(self, team: Team, side: RemoteSide) -> None:
        side.protect()
        made = team.approved()
        team.repo.commit({PAGE: TEXT.replace("First", "Their").encode()})
        team.call(made, "publish").fails(409, "CONFLICT", PAGE)
        assert (team.read(made)["state"], side.requests) == ("approved", [])

    def test_failed_check_fails_the_set_until_it_is_published_again(self, team: Team, side: RemoteSide) -> None:
        side.protect()
        side.require_check()
        made = team.approved()
        team.call(made, "publish").ok(202)
        side.set_check(made["head_sha"], "failed")
        follow_requests(team)
        failed = team.read(made)
        assert (failed["state"], "build" in failed["problem"]) == ("failed", True)
        assert any("New words" in text and "build" in text for text in mails_of(team, team.editor))
        side.set_check(made["head_sha"], "success")
        assert team.call(made, "publish").ok()["state"] == "published"
        assert_published(team, made)
        assert len(side.requests) == 1

    def test_closed_request_fails_the_set(self, team: Team, side: RemoteSide) -> None:
        side.protect()
        side.require_check()
        made = team.approved()
        team.call(made, "publish").ok(202)
        side.close_request(1)
        follow_requests(team)
        assert "closed" in team.read(made)["problem"]
        assert any("closed" in text for text in mails_of(team, team.editor))
        assert team.call(made, "publish").ok(202)["state"] == "publishing"
        assert len(side.requests) == 2

    def test_commit_at_the_host_during_a_publication_fails_the_set(self, team: Team, side: RemoteSide) -> None:
        side.protect()
        side.require_check()
        made = team.approved()
        team.call(made, "publish").ok(202)
        head = team.repo.commit({OTHER: b"# Unseen\n"}, branch=made["branch"])
        side.set_check(head, "success")
        follow_requests(team)
        assert team.read(made)["state"] == "failed"
        team.call(made, "publish").fails(409, "STALE_APPROVAL")
        assert team.repo.show(OTHER) == b"# About\n\nUs.\n"

    def test_request_that_was_merged_at_the_host_is_recorded(self, team: Team, side: RemoteSide) -> None:
        side.protect()
        side.require_check()
        made = team.approved()
        team.call(made, "publish").ok(202)
        side.set_check(made["head_sha"], "success")
        side.merge_request(1, "merge")
        follow_requests(team)
        row = team.read(made)
        assert (row["state"], row["published_sha"]) == ("published", team.repo.head())

    def test_request_that_a_person_merges_during_the_sweep_is_recorded(self, team: Team, side: RemoteSide) -> None:
        side.protect()
        side.require_check()
        made = team.approved()
        team.call(made, "publish").ok(202)
        side.set_check(made["head_sha"], "success")
        side.fail(side.MERGE, first=lambda: side.merge_request(1, "merge"))
        follow_requests(team)
        row = team.read(made)
        assert (row["state"], row["published_sha"]) == ("published", team.repo.head())

    def test_merged_commit_that_cannot_be_read_is_found_later(self, team: Team, side: RemoteSide) -> None:
        side.protect()
        made = team.approved()

        def break_host() -> None:
            side.fail("GET ", reply=refusal("Not found", 404), times=99)

        side.fail(side.MERGE, first=break_host)
        team.call(made, "publish").fails(502)
        side.double.faults.clear()
        assert team.read(made)["state"] == "publishing"
        run(team, "change_sets.finish_publication", change_set_id=made["id"])
        assert_published(team, made)

    def test_unreadable_host_is_read_again(self, team: Team, side: RemoteSide) -> None:
        side.protect()
        side.require_check()
        made = team.approved()
        team.call(made, "publish").ok(202)
        side.set_check(made["head_sha"], "success")
        side.fail("GET .*/(pulls|merge_requests)/1$", reply=refusal("Down", 503), times=4)
        follow_requests(team)
        assert team.read(made)["state"] == "publishing"
        follow_requests(team)
        assert_published(team, made)


class TestRefusals:
    def test_message_of_the_host_is_returned_and_the_state_stays(self, team: Team, side: RemoteSide) -> None:
        made, head = team.approved(), team.repo.head()
        reason = "Commit message does not follow the pattern"
        side.protect()
        side.fail("POST .*/(pulls|merge_requests)$", reply=refusal(reason, 422))
        error = team.call(made, "publish").fails(422, "HOST_REFUSED")
        assert reason in error["message"]
        assert (team.read(made)["state"], team.repo.head()) == ("approved", head)

    def test_merge_into_a_branch_for_change_sets_is_refused(self, team: Team, side: RemoteSide) -> None:
        head = team.repo.head()
        for branch in ("work", "free"):
            team.repo.commit({OTHER: branch.encode()}, branch=branch, start=head)
        team.repo.git("branch", "other", head)
        team.configure(require_change_sets=True)
        path = f"/project/{team.project}/pull-requests"
        for branch, base in (("work", "main"), ("free", "other")):
            team.editor.post(path, {"title": "Direct", "head": branch, "base": base}).ok(201)
        for person in (team.owner, team.editor):
            person.post(f"{path}/1/merge", {}).fails(403, "CHANGE_SET_REQUIRED")
        assert team.repo.head() == head
        team.editor.post(f"{path}/2/merge", {}).ok()


class TestHostChanges:
    def test_pushed_commit_needs_a_new_review_and_cancels_the_schedule(self, team: Team, side: RemoteSide) -> None:
        made = team.approved()
        team.editor.put(f"/change-set/{made['id']}/schedule", TIME).ok()
        head = team.repo.commit({OTHER: b"# Pushed\n"}, branch=made["branch"])
        side.notify(made["branch"])
        row = team.read(made)
        expected = {"state": "in_review", "head_sha": head, "files": 2, "approvals": 0, "schedule": None}
        assert row | expected == row
        assert any("New words" in text and "2027-03-01 08:00" in text for text in mails_of(team, team.editor))

    @pytest.mark.parametrize("method", ["merge", "squash", "rebase"])
    @pytest.mark.parametrize("is_deleted", [False, True])
    def test_request_merged_by_a_person_publishes_the_set(
        self, team: Team, side: RemoteSide, method: str, is_deleted: bool
    ) -> None:
        made = team.edited()
        team.commit(made, update(OTHER, "# About\n\nThem.\n"), message="Second").ok(201)
        before = team.repo.head()
        if method == "merge":
            before = team.repo.commit({"new.md": b"x\n"})
        side.merge_request(side.open_request(made["branch"]), method)
        merged = team.repo.head()
        if is_deleted:
            team.repo.git("branch", "-D", made["branch"])
        side.notify()
        row = team.read(made)
        assert (row["state"], row["published_sha"], team.repo.head()) == ("published", merged, merged)
        assert made["branch"] not in team.repo.text("branch", "--format=%(refname:short)").split()
        files = team.owner.get(f"/change-set/{made['id']}/diff").ok()["files"]
        assert [file["path"] for file in files] == [OTHER, PAGE]
        undo = team.call(made, "revert").ok(201)
        assert team.repo.text("rev-parse", f"{undo['branch']}^{{tree}}") == team.repo.text(
            "rev-parse", f"{before}^{{tree}}"
        )

    @pytest.mark.parametrize("is_fast_forward", [False, True])
    def test_branch_merged_with_git_publishes_the_set(
        self, team: Team, side: RemoteSide, is_fast_forward: bool
    ) -> None:
        made = team.edited()
        if is_fast_forward:
            team.repo.git("update-ref", "refs/heads/main", made["head_sha"])
        else:
            team.repo.commit({PAGE: NEW.encode()}, "Merge", merge=made["head_sha"])
        head = team.repo.head()
        side.notify()
        row = team.read(made)
        assert (row["state"], row["published_sha"]) == ("published", made["head_sha"])
        undo = team.call(made, "revert").ok(201)
        assert team.repo.show(PAGE, undo["branch"]).decode() == TEXT
        assert team.repo.head() == head

    def test_deleted_branch_closes_the_set(self, team: Team, side: RemoteSide) -> None:
        made, other = team.edited(), team.edited("Other words")
        team.repo.git("branch", "-D", made["branch"])
        side.notify(made["branch"])
        row = team.read(made)
        assert (row["state"], bool(row["problem"])) == ("closed", True)
        side.notify()
        assert team.read(other)["state"] == "draft"

    def test_lost_notifications_are_found_by_the_poll(self, team: Team, side: RemoteSide) -> None:
        merged, pushed = team.edited("Merged"), team.approved("Pushed", TEXT.replace("Second", "Pushed"))
        deleted = team.edited("Deleted", TEXT.replace("Second", "Deleted"))
        team.repo.git("update-ref", "refs/heads/main", merged["head_sha"])
        team.repo.git("branch", "-D", deleted["branch"])
        team.repo.commit({OTHER: b"# Pushed\n"}, branch=pushed["branch"])
        run(team, "change_sets.follow_remote")
        states = [team.read(one)["state"] for one in (merged, deleted, pushed)]
        assert states == ["published", "closed", "in_review"]

    def test_set_that_a_request_writes_to_is_read_again_later(self, team: Team, side: RemoteSide) -> None:
        made = team.edited()
        team.repo.git("branch", "-D", made["branch"])
        set_columns(team, ChangeSet, ChangeSet.id == made["id"], busy_until=utcnow_ms() + jobs.SWEEP_INTERVAL)
        side.notify(made["branch"])
        assert team.read(made)["state"] == "draft"
        set_columns(team, ChangeSet, ChangeSet.id == made["id"], busy_until=None)
        run(team, "change_sets.follow", project_id=team.project)
        assert team.read(made)["state"] == "closed"


def set_columns(team: Team, table: type[Any], condition: Any, **values: Any) -> None:
    with team.world.app.app_context():
        db.session.execute(sa.update(table).where(condition).values(**values))
        db.session.commit()


class TestMissingResponses:
    @pytest.mark.parametrize("is_protected", [False, True])
    @pytest.mark.parametrize("fault", [{"lose": True}, {"cut": True}, {"reply": refusal("Bad gateway", 502)}])
    def test_missing_response_publishes_once(
        self, team: Team, side: RemoteSide, is_protected: bool, fault: dict[str, Any]
    ) -> None:
        made = team.approved()
        if is_protected:
            side.protect()
        side.fail(side.MERGE if is_protected else side.WRITE, **fault)
        if team.call(made, "publish").status != 200:
            assert team.read(made)["state"] == "publishing"
            run(team, "change_sets.finish_publication", change_set_id=made["id"])
        assert_published(team, made)

    @pytest.mark.parametrize("is_protected", [False, True])
    def test_unknown_outcome_is_found_by_the_job(self, team: Team, side: RemoteSide, is_protected: bool) -> None:
        made = team.approved()
        if is_protected:
            side.protect()
        write = side.MERGE if is_protected else side.WRITE

        def break_host() -> None:
            side.fail("GET ", reply=refusal("Down", 502), times=99)

        side.fail(write, first=break_host, lose=True, times=99)
        team.call(made, "publish").fails(502)
        assert team.read(made)["state"] == "publishing"
        side.double.faults.clear()
        team.repo.commit({OTHER: b"# In between\n"})
        run(team, "change_sets.finish_publication", change_set_id=made["id"])
        assert_published(team, made)
        assert team.repo.show(PAGE).decode() == NEW


class TestMove:
    def test_page_is_moved_to_another_set(self, team: Team, side: RemoteSide) -> None:
        made, other = team.approved(), team.new("Other")
        moved = team.call(made, "move", {"paths": [PAGE], "to": other["id"]}).ok()
        assert (moved["complete"], moved["change_set"]["files"], moved["to"]["files"]) == (True, 0, 1)
        shown = [team.repo.show(PAGE, one["branch"]).decode() for one in (made, other)]
        assert shown == [TEXT, NEW]


class TestSchedule:
    @pytest.mark.parametrize("is_protected", [False, True])
    def test_due_set_is_published_and_reverted(self, team: Team, side: RemoteSide, is_protected: bool) -> None:
        if is_protected:
            side.protect()
        made = team.approved()
        for action, text in (("publish", NEW), ("unpublish", TEXT)):
            team.schedule(made, action)
            run_due(team, made)
            team.world.work_off()
            assert team.repo.show(PAGE).decode() == text
        assert team.read(made)["state"] == "reverted"
        assert len(publications(team, made)) == 1


@pytest.mark.one_database
class TestNumberOfCalls:
    """Tests of the number of calls to the host for a publication of one file, with the deletion of its branch."""

    @pytest.mark.parametrize("is_protected", [False, True])
    def test_publication_needs_few_calls(self, team: Team, side: RemoteSide, provider: str, is_protected: bool) -> None:
        if is_protected:
            side.protect()
        team.world.work_off()
        made = team.approved()
        side.double.journal.clear()
        team.call(made, "publish").ok()
        team.world.work_off()
        calls = [f"{call.method} {call.path} {call.status}" for call in side.double.journal]
        counted = [call for call in calls if not call.endswith(" 304")]  # GitHub does not count them.
        assert len(counted) <= MOST_CALLS[provider, is_protected], calls
