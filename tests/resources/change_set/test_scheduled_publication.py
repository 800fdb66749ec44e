"""Tests of publications and reverts at a time: whose rights they need, how they fail, and calls that come late or twice."""

import threading
from collections.abc import Callable
from datetime import timedelta

import pytest
import sqlalchemy as sa

from app.core import clock
from app.database import transactions
from app.database.sqlite import WRITE_LOCK_WAIT_S
from app.database.transactions import reading_context
from app.extensions import db, drivers
from app.models.change_set import ChangeSet, ChangeSetState, Verdict
from app.models.project import Project
from app.models.project_log import ProjectLogEntry
from app.models.user import User
from app.resources.change_set import content, publishing, reviews, service, states
from app.resources.change_set.errors import NothingToPublish, StaleApproval
from app.resources.project_content.source import source_of
from tests.resources.change_set.conftest import OTHER, PAGE, TEXT, Team, come, mails_of, run_due, run_job, update
from tests.resources.change_set.races import trailers
from tests.support.factories import limit
from tests.support.world import Person

NEW = TEXT.replace("First", "New")
THEIRS = TEXT.replace("First", "Their").encode()


def mails(team: Team, person: Person) -> list[str]:
    """Return the mails to a person after the waiting jobs have run, without line breaks."""
    return [" ".join(text.split()) for text in mails_of(team, person)]


def remove_member(team: Team) -> None:
    path = f"/organization/remove-member/{team.organization}"
    team.owner.again().patch(path, {"member_id": team.editor.id}).ok()


def hide_project(team: Team) -> None:
    limit(team.world, team.organization, team.editor)


def limit_publishers(team: Team) -> None:
    team.configure(publishers="admins")


def archive(team: Team) -> None:
    team.owner.again().patch(f"/project/status/{team.project}", {"status": "archived"}).ok()


def delete_user(team: Team) -> None:
    team.editor.again().delete(f"/user/delete/{team.editor.id}", {}).ok()


def change_the_same(team: Team) -> None:
    team.repo.commit({PAGE: THEIRS})


REFUSALS: dict[Callable[[Team], None], str] = {
    remove_member: "The user who chose the time is not a member any more",
    hide_project: "The user who chose the time is not a member any more",
    limit_publishers: "In this project only owners and admins may publish",
    archive: "The project is archived",
    delete_user: "The user who chose the time is not a member any more",
    change_the_same: "The site was changed in the same places",
}


class TestPublication:
    def test_set_is_published_at_its_time_in_the_name_of_the_scheduler(self, team: Team) -> None:
        made = team.approved()
        planned = team.schedule(made, by=team.reviewer)
        assert (planned["state"], planned["schedule"]["action"]) == ("scheduled", "publish")
        run_job(team, "change_sets.publish_due")
        run_job(team, "change_sets.publish_scheduled", change_set_id=made["id"])
        assert team.read(made)["state"] == "scheduled"
        for _ in range(2):
            run_due(team, made)
        published = team.read(made)
        assert (published["state"], published["schedule"], trailers(team, made)) == ("published", None, 1)
        with team.world.app.app_context():
            logged = sa.select(ProjectLogEntry.user_id).filter_by(commit_sha=published["published_sha"])
            assert db.session.scalars(logged).all() == [team.reviewer.id]

    @pytest.mark.parametrize("change", REFUSALS)
    def test_refused_publication_fails_and_mails_the_reason(self, team: Team, change: Callable[[Team], None]) -> None:
        made = team.approved(f"Words {change.__name__}")
        team.schedule(made)
        change(team)
        head, recipient = team.repo.head(), team.editor
        if change is delete_user:  # The creator has no address now.
            team.schedule(made, by=team.admin)
            with team.world.app.app_context():
                db.session.execute(sa.text("UPDATE change_set_schedules SET user_id = NULL"))
                db.session.execute(sa.update(ChangeSet).filter_by(id=made["id"]).values(creator_id=team.admin.id))
                db.session.commit()
            recipient = team.admin
        elif change in (remove_member, hide_project):
            recipient = team.reviewer
        for _ in range(2):
            run_due(team, made)
        failed = team.read(made)
        assert (failed["state"], failed["schedule"], team.repo.head()) == ("failed", None, head)
        assert REFUSALS[change] in failed["problem"]
        [mail] = [text for text in mails(team, recipient) if failed["problem"] in text]
        assert made["title"] in mail
        assert recipient is not team.reviewer or failed["problem"] not in " ".join(mails(team, team.editor))

    def test_set_that_conflicts_already_is_not_scheduled(self, team: Team) -> None:
        made, merged = team.approved(), team.approved("Other", TEXT.replace("Second", "Other"))
        change_the_same(team)
        due = {"wall_time": f"{clock.now() + timedelta(days=1):%Y-%m-%dT%H:%M}", "timezone": "UTC"}
        answer = team.put_schedule(made, due).fails(409, "CONFLICT", PAGE)
        assert [one["path"] for one in answer["result"]["conflicts"]] == [PAGE]
        assert "Nothing was scheduled" in answer["message"]
        assert (team.read(made)["state"], team.read(made)["schedule"]) == ("approved", None)
        assert team.put_schedule(merged, due).ok()["state"] == "scheduled"

    def test_failed_set_can_be_scheduled_again(self, team: Team) -> None:
        made = team.approved()
        team.schedule(made)
        limit_publishers(team)
        run_due(team, made)
        team.configure(publishers="editors")
        team.schedule(made)
        assert team.read(made) | {"state": "scheduled", "problem": None} == team.read(made)
        run_due(team, made)
        assert (team.read(made)["state"], trailers(team, made)) == ("published", 1)

    @pytest.mark.parametrize("is_pushed", [False, True])
    def test_later_commit_cancels_the_schedule_with_a_mail(self, team: Team, is_pushed: bool) -> None:
        made = team.approved("Pushed words" if is_pushed else "Saved words")
        team.schedule(made, by=team.reviewer)
        if is_pushed:
            team.repo.commit({OTHER: b"# Pushed\n"}, branch=made["branch"])
        else:
            team.commit(made, update(OTHER, "# Saved\n")).ok(201)
        run_due(team, made)
        left = team.read(made)
        assert (left["state"], left["schedule"], left["problem"], trailers(team, made)) == ("in_review", None, None, 0)
        [mail] = [text for text in mails(team, team.reviewer) if "cancelled" in text]
        assert (made["title"] in mail, "UTC" in mail) == (True, True)

    def test_removed_schedule_returns_to_approved(self, team: Team) -> None:
        made = team.approved()
        path = f"/change-set/{made['id']}/schedule"
        team.editor.delete(path).fails(409, "STATE")
        other = team.published("Published", text=TEXT.replace("Second", "Other"))
        team.editor.delete(f"/change-set/{other['id']}/schedule").fails(409, "STATE")
        team.schedule(made)
        assert team.editor.delete(path).ok() | {"state": "approved", "schedule": None} == team.read(made)
        run_due(team, made)
        assert (team.read(made)["state"], trailers(team, made)) == ("approved", 0)

    def test_sets_of_one_minute_share_the_call_at_their_time(self, team: Team) -> None:
        team.world.work_off()
        body = {"wall_time": "2029-05-01T10:00", "timezone": "UTC"}
        for number in range(3):
            team.put_schedule(team.approved(text=TEXT.replace("First", f"Text {number}")), body).ok()
        assert waiting(team, "change_sets.publish_due") == 1


class TestRunningPublication:
    def test_refused_publication_at_a_time_does_not_fail_one_that_is_running(self, team: Team) -> None:
        made = team.approved()
        team.schedule(made)
        come(team, made)
        app = team.world.app
        with reading_context(app), transactions.write_transaction():
            publishing.claim(
                states.locked(made["id"]), head=team.repo.head(), user=db.session.get_one(User, team.admin.id)
            )
            publishing.fail(made["id"], "Refused", is_scheduled=True)
        assert team.read(made) | {"state": "publishing", "problem": None} == team.read(made)
        assert [text for text in mails(team, team.editor) if "Refused" in text] == []
        run_job(team, "change_sets.finish_publication", change_set_id=made["id"])
        assert (team.read(made)["state"], trailers(team, made)) == ("published", 1)

    @pytest.mark.one_database
    def test_publication_while_another_process_holds_the_write_lock_is_repeated(self, team: Team) -> None:
        made = team.approved()
        team.schedule(made)
        come(team, made)
        with team.world.app.app_context(), db.engine.connect() as holder:
            holder.execute(sa.text("SELECT 1"))
            release = threading.Timer(WRITE_LOCK_WAIT_S + 1, holder.rollback)
            release.start()
            with pytest.raises(sa.exc.OperationalError):
                run_job(team, "change_sets.publish_scheduled", change_set_id=made["id"])
            release.join()
        assert team.read(made)["state"] == "scheduled"
        run_job(team, "change_sets.publish_scheduled", change_set_id=made["id"])
        assert team.read(made)["state"] == "published"

    def test_refused_attempt_does_not_release_a_later_claim(self, team: Team) -> None:
        made, claimed = team.new(), sa.update(ChangeSet).values(publish_from="f" * 40)
        with reading_context(team.world.app):
            source = source_of(db.session.get_one(Project, team.project), drivers.git)
            with transactions.write_transaction():
                row = states.locked(made["id"])
                row.state = ChangeSetState.APPROVED
                publishing.claim(row, head=team.repo.head(), user=team.editor)
            with transactions.outside_transaction():
                with db.engine.begin() as connection:
                    connection.execute(claimed.where(ChangeSet.id == made["id"]))
                with pytest.raises(NothingToPublish):
                    publishing.attempt(row, source)
        assert team.read(made)["state"] == "publishing"


class TestEarlierContent:
    def test_content_that_was_read_before_a_later_commit_is_ignored(self, team: Team) -> None:
        """A slow request read the head before the commit. It must not publish or approve that head."""
        made = team.approved()
        app = team.world.app
        with reading_context(app):
            row = db.session.get_one(ChangeSet, made["id"])
            project = db.session.get_one(Project, team.project)
            with transactions.outside_transaction():
                source = source_of(project, drivers.git, branch=row.branch)
                earlier = content.read_content(source, row, "main")
        team.commit(made, update(OTHER, "# Later\n")).ok(201)
        later = team.read(made)
        with reading_context(app), transactions.write_transaction():
            service.update_content(states.locked(made["id"]), earlier)
        assert team.read(made) == later
        approval = reviews.Review(Verdict.APPROVE)
        with reading_context(app), transactions.write_transaction():
            user = db.session.get_one(User, team.reviewer.id)
            with pytest.raises(StaleApproval):
                reviews.review(row, project, reviews.Reviewed(earlier), approval, by=user)
        assert team.read(made) == later


def waiting(team: Team, name: str) -> int:
    """Return the number of waiting calls of a job."""
    app = team.world.app
    with app.app_context(), db.engine.connect() as connection:
        return sum(call.name == name for call in app.extensions["jobs"].unfinished(connection))


class TestRevert:
    def test_published_set_is_reverted_once_without_an_approval(self, team: Team) -> None:
        before = team.repo.text("rev-parse", "HEAD^{tree}")
        made = team.published()
        planned = team.schedule(made, "unpublish", by=team.admin)
        assert (planned["state"], planned["schedule"]["action"]) == ("published", "unpublish")
        for _ in range(2):
            run_due(team, made)
        reverted = team.read(made)
        assert (reverted["state"], reverted["schedule"]) == ("reverted", None)
        assert team.repo.text("rev-parse", "HEAD^{tree}") == before
        [undo] = team.owner.get(f"{team.sets}?state=published").ok()
        assert (undo["reverts"], undo["created_by"]["id"], trailers(team, undo)) == (made["id"], team.admin.id, 1)

    def test_edited_revert_is_not_published_without_an_approval(self, team: Team) -> None:
        made = team.published()
        draft = team.call(made, "revert").ok(201)
        team.commit(draft, update(OTHER, "# Not reviewed\n")).ok(201)
        team.schedule(made, "unpublish")
        run_due(team, made)
        assert (team.read(made)["state"], team.read(draft)["state"]) == ("reverted", "draft")
        assert team.repo.show(OTHER) == b"# About\n\nUs.\n"

    def test_removed_schedule_keeps_the_set_published(self, team: Team) -> None:
        made = team.published()
        team.schedule(made, "unpublish")
        assert team.editor.delete(f"/change-set/{made['id']}/schedule").ok()["state"] == "published"
        run_due(team, made)
        assert team.read(made)["state"] == "published"

    @pytest.mark.parametrize("change", [limit_publishers, change_the_same])
    def test_refused_revert_leaves_the_set_published_and_mails(
        self, team: Team, change: Callable[[Team], None]
    ) -> None:
        made = team.published(f"Page {change.__name__}")
        team.world.work_off()
        team.schedule(made, "unpublish")
        change(team)
        head, branches = team.repo.head(), team.repo.text("branch", "--format=%(refname)")
        run_due(team, made)
        left = team.read(made)
        assert (left["state"], left["schedule"]) == ("published", None)
        assert (team.repo.head(), team.repo.text("branch", "--format=%(refname)")) == (head, branches)
        assert [one["id"] for one in team.owner.get(team.sets).ok()] == [made["id"]]
        [mail] = [text for text in mails(team, team.editor) if left["problem"] in text]
        assert made["title"] in mail
