"""Tests of notices: who receives which news, the bundled mails, and parallel workers."""

import threading
from datetime import timedelta
from typing import Any

import pytest
import sqlalchemy as sa

from app.database.transactions import locked_row, reading_context
from app.extensions import db
from app.models.base import utcnow_ms
from app.models.change_set import Notice
from app.models.user import User
from app.resources.change_set import notices
from app.resources.system import jobs as system_jobs
from tests.resources.change_set.conftest import TEXT, Team, age_notices, mails_of, run_due, run_job, update
from tests.support.assertions.mailbox import Mailbox
from tests.support.factories import limit
from tests.support.parallel import together
from tests.support.world import Person

NAMES = ("owner", "admin", "editor", "reviewer", "stranger")


def news(team: Team) -> list[tuple[str, str, str]]:
    """Return recipient, kind and text of all notices, and forget them."""
    people = {getattr(team, name).id: name for name in NAMES}
    with team.world.app.app_context():
        rows = db.session.scalars(sa.select(Notice).where(Notice.user_id.in_(people))).all()
        shown = sorted((people[row.user_id], str(row.kind), row.text) for row in rows)
        db.session.execute(sa.delete(Notice))
        db.session.commit()
    return shown


def rename(team: Team, **names: str) -> None:
    """Give people of the team other names."""
    with team.world.app.app_context():
        for person, name in names.items():
            db.session.execute(sa.update(User).filter_by(id=getattr(team, person).id).values(name=name))
        db.session.commit()


def comment(team: Team, change_set: dict[str, Any], body: str, *, by: Person | None = None) -> None:
    team.call(change_set, "comments", {"body": body}, by=by).ok(201)


def submitted(team: Team, title: str = "New words") -> dict[str, Any]:
    """Create a set with one page that is in review."""
    made = team.edited(title)
    team.call(made, "submit").ok()
    return made


class TestRecipients:
    def test_steps_reach_the_people_of_a_set_without_the_actor(self, team: Team) -> None:
        made = submitted(team)
        assert news(team) == [(name, "review_requested", "") for name in ("admin", "owner", "reviewer")]
        team.call(made, "reviews", {"verdict": "changes", "body": "Shorter"}, by=team.reviewer).ok(201)
        assert news(team) == [("editor", "changes_requested", "Shorter")]
        comment(team, made, "Like this?")
        assert news(team) == [("reviewer", "comment", "Like this?")]
        team.call(made, "submit", by=team.admin).ok()
        assert [name for name, _, _ in news(team)] == ["owner", "reviewer"]
        team.call(made, "reviews", {"verdict": "approve"}, by=team.reviewer).ok(201)
        assert news(team) == [("editor", "approved", "")]
        team.call(made, "publish", by=team.admin).ok()
        assert news(team) == [("editor", "published", ""), ("reviewer", "published", "")]

    def test_refused_publication_reaches_its_creator_and_its_scheduler(self, team: Team) -> None:
        made = team.approved()
        team.schedule(made, by=team.admin)
        team.repo.commit({"content/posts/hello.md": TEXT.replace("First", "Their").encode()}, "Theirs")
        news(team)
        run_due(team, made)
        listed = news(team)
        expected = [(name, "publish_failed") for name in ("admin", "editor", "reviewer")]
        assert [(name, kind) for name, kind, _ in listed] == expected
        assert "hello.md" not in listed[0][2]

    @pytest.mark.parametrize(
        ("body", "mentioned"),
        [
            ("Look, @grace hopper!", ["reviewer"]),
            ("@Grace: look", ["reviewer"]),
            ("Ask {admin}.", ["admin"]),
            ("@Ada is the name of two people", []),
            ("@Ada Lovelace and @Ada King", ["admin", "owner"]),
            ("mail@grace.example and @gracefully", []),
            ("{stranger} is no member", []),
            ("@Grace and @Hopper", ["reviewer"]),
            ("An editor names @Eve", []),
        ],
    )
    def test_mention_reaches_the_named_member(self, team: Team, body: str, mentioned: list[str]) -> None:
        rename(team, reviewer="Grace Hopper", owner="Ada Lovelace", admin="Ada King", editor="Eve", stranger="Grace")
        made = team.new()
        comment(team, made, body.format(admin=team.admin.email, stranger=team.stranger.email))
        assert [(name, kind) for name, kind, _ in news(team)] == [(name, "mentioned") for name in mentioned]

    def test_mentioned_person_of_the_conversation_receives_one_notice(self, team: Team) -> None:
        rename(team, reviewer="Grace Hopper")
        made = team.new()
        comment(team, made, "First", by=team.reviewer)
        news(team)
        comment(team, made, "@Grace yes")
        assert news(team) == [("reviewer", "mentioned", "@Grace yes")]

    @pytest.mark.parametrize("is_member", [False, True])
    def test_person_without_access_receives_no_notice(self, team: Team, is_member: bool) -> None:
        made = team.new()
        comment(team, made, "First", by=team.reviewer)
        if is_member:
            limit(team.world, team.organization, team.reviewer)
        else:
            leave(team, team.reviewer)
        news(team)
        comment(team, made, "Second")
        assert news(team) == []

    def test_long_text_is_cut(self, team: Team) -> None:
        made = team.new()
        comment(team, made, "a" * 5_000, by=team.reviewer)
        [(_, _, text)] = news(team)
        assert len(text) == notices.MAX_TEXT + 1


def leave(team: Team, person: Person) -> None:
    path = f"/organization/remove-member/{team.organization}"
    team.owner.again().patch(path, {"member_id": person.id}).ok()


class TestMails:
    def test_news_of_five_minutes_are_one_mail_with_titles_and_no_paths(self, team: Team) -> None:
        made = submitted(team, "Spring")
        team.commit(made, {"path": "content/posts/new-menu/index.md", "action": "create", "content": "Soup\n"}).ok(201)
        team.commit(made, update("content/about.md", "# About\n\nAll.\n")).ok(201)
        comment(team, made, "Ready, see\nexample.org")
        comment(team, made, "I answer", by=team.reviewer)
        run_job(team, "change_sets.mail_notices")
        before = len(mails_of(team, team.stranger))
        [mail] = [text for text in mails_of(team, team.reviewer) if "Spring" in text]
        assert mail.partition("\n")[0].endswith("asks you to review “Spring”")
        assert f"/console/projects/{team.project}/changes/{made['id']}" in mail
        assert "About · Hello · New menu" in " ".join(mail.split())
        assert ("content/" in mail, ".md" in mail) == (False, False)
        assert [text for text in mails_of(team, team.reviewer) if "Spring" in text] == [mail]
        [other] = [text for text in mails_of(team, team.editor) if "Spring" in text]
        assert "“I answer”" in other
        assert len(mails_of(team, team.stranger)) == before

    def test_mail_names_the_page_of_settings(self, team: Team) -> None:
        submitted(team)
        mails_of(team, team.owner)
        mail = Mailbox(team.world.app.config["SETTINGS"].mail.directory, team.owner.email).mails()[-1]
        assert str(mail["List-Unsubscribe"]).endswith("/console/account/notices>")

    def test_news_about_two_sets_lead_to_the_list(self, team: Team) -> None:
        submitted(team, "Spring")
        submitted(team, "Autumn")
        mail = mails_of(team, team.owner)[-1]
        assert ("Spring" in mail, "Autumn" in mail, "/console/for-you" in mail) == (True, True, True)

    def test_mail_has_the_language_of_the_recipient(self, team: Team) -> None:
        team.owner.again().patch(f"/user-preference/{team.owner.id}", {"language": "de"}).ok()
        submitted(team, "Frühling")
        assert "bittet Sie, „Frühling“ zu prüfen" in mails_of(team, team.owner)[-1]
        assert "asks you to review “Frühling”" in mails_of(team, team.admin)[-1]

    def test_read_news_switched_off_kinds_and_lost_access_need_no_mail(self, team: Team) -> None:
        made = submitted(team, "Quiet")
        team.owner.again().patch(f"/user-preference/{team.owner.id}", {"muted_mails": ["review_requested"]}).ok()
        leave(team, team.reviewer)
        with reading_context(team.world.app):
            notices.mark_read(team.admin.id, made["id"])
        for person in (team.owner, team.reviewer, team.admin):
            assert [text for text in mails_of(team, person) if "Quiet" in text] == []
        with team.world.app.app_context():
            assert db.session.scalar(sa.select(sa.func.count()).where(Notice.mailed_at.is_(None))) == 0

    def test_many_news_name_the_number_of_the_rest(self, team: Team) -> None:
        made = team.new("Talk")
        for number in range(notices.MAX_MAILED + 3):
            comment(team, made, f"Remark {number}.", by=team.reviewer)
        mail = mails_of(team, team.editor)[-1]
        assert (mail.count("Remark"), "More: 3" in mail) == (notices.MAX_MAILED, True)

    def test_unknown_kind_is_refused(self, team: Team) -> None:
        path = f"/user-preference/{team.owner.id}"
        team.owner.again().patch(path, {"muted_mails": ["weather"]}).fails(400, "VALIDATION_FAILED", "muted_mails.0")
        assert team.owner.again().get(path).ok()["muted_mails"] == []


class TestParallelWorkers:
    def test_each_notice_is_in_one_mail(self, team: Team) -> None:
        made, sent = team.new("Race"), [f"Remark {number}." for number in range(16)]
        is_written = threading.Event()

        def write() -> None:
            for body in sent:
                comment(team, made, body, by=team.reviewer)
                age_notices(team)
            is_written.set()

        def work() -> None:
            while not is_written.is_set():
                run_job(team, "change_sets.mail_notices")
                is_written.wait(0.05)  # The writer has its turn.

        together([write, work, work, work])
        mails = [text for text in mails_of(team, team.editor) if "Race" in text]
        assert [sum(body in text for text in mails) for body in sent] == [1] * len(sent)

    def test_second_worker_does_not_split_a_bundle(self, team: Team) -> None:
        made = team.new("Split")
        comment(team, made, "Remark 1.", by=team.reviewer)
        age_notices(team)
        run_job(team, "change_sets.mail_notices")
        comment(team, made, "Remark 2.", by=team.reviewer)
        with reading_context(team.world.app), locked_row(User, team.editor.id) as user:
            assert user is not None
            notices.mail(user)  # Chosen before the other worker claimed the first notice.
        team.world.work_off()
        with team.world.app.app_context():
            waiting = db.session.scalars(sa.select(Notice.text).where(Notice.mailed_at.is_(None))).all()
        assert waiting == ["Remark 2."]

    def test_rolled_back_bundle_is_mailed_later(self, team: Team) -> None:
        comment(team, team.new("Crash"), "Remark.", by=team.reviewer)
        age_notices(team)

        def crash() -> None:
            with reading_context(team.world.app), locked_row(User, team.editor.id) as user:
                assert user is not None
                notices.mail(user)
                raise InterruptedError

        with pytest.raises(InterruptedError):
            crash()
        assert len([text for text in mails_of(team, team.editor) if "Crash" in text]) == 1


class TestRetention:
    def test_old_notices_are_deleted(self, team: Team) -> None:
        made = team.new()
        comment(team, made, "Old", by=team.reviewer)
        age_notices(team, system_jobs.NOTICE_RETENTION + timedelta(minutes=1))
        comment(team, made, "Young", by=team.reviewer)
        with reading_context(team.world.app):
            system_jobs.purge()
        assert [text for _, _, text in news(team)] == ["Young"]

    def test_count_is_bounded_and_follows_access(self, team: Team) -> None:
        made = team.new()
        with team.world.app.app_context():
            rows = [
                {"user_id": team.reviewer.id, "change_set_id": made["id"], "kind": "comment", "created_at": utcnow_ms()}
                for _ in range(notices.MAX_COUNTED + 5)
            ]
            db.session.add_all(Notice(**row) for row in rows)
            db.session.commit()
        with reading_context(team.world.app):
            assert notices.count_unread(team.reviewer.id) == notices.MAX_COUNTED
            assert len(notices.listed(team.reviewer.id)) == notices.MAX_LISTED
        leave(team, team.reviewer)
        with reading_context(team.world.app):
            assert (notices.count_unread(team.reviewer.id), notices.listed(team.reviewer.id)) == (0, [])
