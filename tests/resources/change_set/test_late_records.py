"""Requests whose effect is in Git although the transaction that records it fails. The response says what Git says."""

import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from functools import partial
from typing import Any

import pytest
import sqlalchemy as sa
from flask import Flask

from app.drivers.errors import UpstreamTimeout
from app.extensions import db
from app.models.project import Project
from app.resources.change_set import actions
from tests.resources.change_set.conftest import PAGE, TEXT, Team, run_job, update
from tests.support.tokens import new_token

NEW = TEXT.replace("First", "New")
BROKEN = {
    "sqlite": [
        "CREATE TRIGGER broken_{table} BEFORE {event} ON {table} WHEN {when} BEGIN SELECT RAISE(ABORT, 'broken'); END"
    ],
    "postgresql": [
        "CREATE OR REPLACE FUNCTION broken() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'broken'; END $$",
        "CREATE TRIGGER broken_{table} BEFORE {event} ON {table} FOR EACH ROW WHEN ({when}) EXECUTE FUNCTION broken()",
    ],
}
REPAIRED = {"sqlite": "DROP TRIGGER broken_{table}", "postgresql": "DROP TRIGGER broken_{table} ON {table}"}
RECORDS = {
    "sqlite": ("background_jobs", "NEW.name = 'content.record_save'"),
    "postgresql": ("procrastinate_jobs", "NEW.args ->> 'name' = 'content.record_save'"),
}
WITHIN_S = 60


@contextmanager
def broken(app: Flask, table: str, event: str = "INSERT", when: str = "1 = 1") -> Iterator[None]:
    """Let each change of a table fail that fulfils a condition."""
    with app.app_context(), db.engine.begin() as connection:
        for statement in BROKEN[connection.dialect.name]:
            connection.exec_driver_sql(statement.format(table=table, event=event, when=when))
    try:
        yield
    finally:
        with app.app_context(), db.engine.begin() as connection:
            connection.exec_driver_sql(REPAIRED[connection.dialect.name].format(table=table))


@contextmanager
def held_index(app: Flask, project: str) -> Iterator[None]:
    """Hold the row of the index of a project, as a run does that writes many files."""
    statement = sa.text("SELECT id FROM content_indexes WHERE project_id = :project FOR UPDATE")
    with app.app_context(), db.engine.begin() as connection:
        assert connection.execute(statement, {"project": project}).all()
        yield


def log_of(team: Team, sha: str) -> list[tuple[str, str, str]]:
    """Return the action, source and user of each entry of a commit."""
    entries = team.owner.again().get(f"/project-log/{team.project}?limit=100").ok()
    found = [one for one in entries["logs"] if one["commit_sha"] == sha]
    return [(one["action"], one["source"], one["user_id"]) for one in found]


def content(team: Team, path: str, body: dict[str, Any], method: str = "POST", **options: Any) -> Any:
    return team.editor.again().call(method, f"/project-content/{team.project}/{path}", body, **options)


class TestSaves:
    def test_save_of_each_kind_is_answered_and_logged_later(self, team: Team, app: Flask) -> None:
        base = team.repo.head()
        with broken(app, "project_log_entries"):
            saved = content(team, "commit", {"message": "Save", "base_sha": base, "files": [update(PAGE, NEW)]}).ok(201)
            first = saved["commit_sha"]
            assert (team.repo.head(), saved["branch"], [one["path"] for one in saved["files"]]) == (
                first,
                "main",
                [PAGE],
            )
            body = {"file": PAGE, "base_sha": first, "set": {"title": "Second"}}
            second = content(team, "front-matter", body, "PATCH").ok()["commit_sha"]
            body = {"file": PAGE, "commit_sha": base, "base_sha": second}
            third = content(team, "restore", body).ok(201)["commit_sha"]
            assert team.repo.head() == third
        team.world.work_off()

        logged = [log_of(team, sha) for sha in (first, second, third)]
        assert logged == [[("update", "commit", team.editor.id)]] * 3
        assert team.repo.show(PAGE) == TEXT.encode()

    def test_save_is_logged_when_a_database_that_stores_no_job_is_back(self, team: Team, app: Flask) -> None:
        body = {"message": "Save", "base_sha": team.repo.head(), "files": [update(PAGE, NEW)]}
        with app.app_context():
            table, when = RECORDS[db.engine.dialect.name]
        with broken(app, "project_log_entries"), broken(app, table, when=when):
            saved = content(team, "commit", body).ok(201)["commit_sha"]
        deadline = time.monotonic() + WITHIN_S
        while not log_of(team, saved) and time.monotonic() < deadline:
            time.sleep(0.2)
            team.world.work_off()

        assert log_of(team, saved) == [("update", "commit", team.editor.id)]

    @pytest.mark.parametrize("stores_jobs", [True, False])
    def test_repeated_request_receives_the_response_of_an_unrecorded_save(
        self, team: Team, app: Flask, stores_jobs: bool
    ) -> None:
        body = {"message": "Save", "base_sha": team.repo.head(), "files": [update(PAGE, NEW)]}
        with app.app_context():
            table, when = RECORDS[db.engine.dialect.name]
        send = partial(content, team, "commit", body, headers={"Idempotency-Key": "late"})
        with broken(app, "project_log_entries"), nullcontext() if stores_jobs else broken(app, table, when=when):
            saved = send().ok(201)
        deadline = time.monotonic() + WITHIN_S
        while (repeated := send()).status == 409 and not stores_jobs and time.monotonic() < deadline:
            time.sleep(0.2)

        assert (repeated.ok(201), repeated.headers["Idempotency-Replayed"]) == (saved, "true")

    def test_refused_save_is_recorded_by_nothing(self, team: Team, app: Flask) -> None:
        body = {"message": "Save", "base_sha": team.repo.head(), "files": [update("missing.md", "a")]}
        with broken(app, "project_log_entries"):
            content(team, "commit", body).fails(409)
        team.world.work_off()

        assert team.owner.again().get(f"/project-log/{team.project}").ok()["logs"] == []


class TestHeldIndex:
    @pytest.fixture(autouse=True)
    def rows_are_locked(self, app: Flask) -> None:
        with app.app_context():
            if db.engine.dialect.name != "postgresql":
                pytest.skip("SQLite locks the database, so a save waits before its effect")

    def test_saves_publications_and_pushes_do_not_wait_for_the_index(self, team: Team, app: Flask) -> None:
        team.world.work_off()
        change_set = team.approved()
        token = new_token(team.reviewer)["id"]
        with app.app_context():
            repository = db.session.get_one(Project, team.project).repository
        before = team.repo.head()
        pushed = team.repo.commit({f"pushed/{n}.md": b"a" for n in range(3)})
        saved = list[str]()
        with held_index(app, team.project):
            updates = [["main", before, pushed]]
            push = {"repository": repository, "updates": updates, "user_id": team.reviewer.id, "token_id": token}
            run_job(team, "git_push.received", **push)
            for number in range(20):
                files = [{"path": f"saved/{number}.md", "action": "create", "content": "a"}]
                body = {"message": "Save", "base_sha": team.repo.head(), "files": files}
                saved.append(content(team, "commit", body).ok(201)["commit_sha"])
            published = team.call(change_set, "publish").ok()["published_sha"]
            team.editor.again().get(f"/project-content/{team.project}").ok()
        team.world.work_off()

        assert [log_of(team, sha) for sha in saved] == [[("create", "commit", team.editor.id)]] * 20
        assert log_of(team, published) == [("update", "commit", team.editor.id)]
        assert log_of(team, pushed) == [("create", "push", team.reviewer.id)] * 3


class TestChangeSets:
    def test_commit_to_a_set_is_answered_and_releases_the_set(self, team: Team, app: Flask) -> None:
        made = team.new()
        with broken(app, "project_log_entries"):
            saved = team.commit(made, update(PAGE, NEW), by=team.reviewer).ok(201)["commit_sha"]
        team.world.work_off()

        assert team.repo.head(made["branch"]) == saved
        assert (team.read(made)["head_sha"], team.read(made)["files"]) == (saved, 1)
        assert log_of(team, saved) == [("update", "commit", team.reviewer.id)]
        team.call(made, "submit").ok()
        team.call(made, "reviews", {"verdict": "approve"}, by=team.reviewer).fails(403, "OWN_REVIEW")
        team.commit(made, update(PAGE, NEW + "More.\n")).ok(201)

    def test_commit_that_cannot_be_read_is_answered(self, team: Team, monkeypatch: pytest.MonkeyPatch) -> None:
        made = team.new()

        def fail(*_: object) -> None:
            raise UpstreamTimeout

        with monkeypatch.context() as patch:
            patch.setattr(actions.content, "content_at", fail)
            saved = team.commit(made, update(PAGE, NEW), by=team.reviewer).ok(201)["commit_sha"]
        team.world.work_off()

        assert (team.read(made)["head_sha"], team.read(made)["files"]) == (saved, 1)
        assert log_of(team, saved) == [("update", "commit", team.reviewer.id)]
        team.call(made, "submit").ok()
        team.call(made, "reviews", {"verdict": "approve"}, by=team.reviewer).fails(403, "OWN_REVIEW")
        team.commit(made, update(PAGE, NEW + "More.\n")).ok(201)

    def test_publication_is_answered_with_202_and_recorded_for_its_publisher(self, team: Team, app: Flask) -> None:
        made = team.approved()
        with broken(app, "project_log_entries"):
            answered = team.call(made, "publish").ok(202)
        head = team.repo.head()
        team.world.work_off()

        row = team.read(made)
        assert (answered["id"], answered["state"]) == (made["id"], "publishing")
        assert (row["state"], row["published_sha"], team.repo.head()) == ("published", head, head)
        assert log_of(team, head) == [("update", "commit", team.editor.id)]

    def test_update_from_the_site_is_answered(self, team: Team, app: Flask) -> None:
        made = team.edited()
        body = {"message": "Save", "base_sha": team.repo.head(), "files": [update("content/about.md", "# Us\n")]}
        content(team, "commit", body).ok(201)
        with broken(app, "change_set_paths"):
            answered = team.call(made, "update").ok()
        team.world.work_off()

        assert answered["head_sha"] == team.repo.head(made["branch"]) == team.read(made)["head_sha"]
        team.commit(made, update(PAGE, NEW + "More.\n")).ok(201)

    def test_deletion_of_a_set_is_answered(self, team: Team, app: Flask) -> None:
        made = team.edited()
        with broken(app, "change_sets", "UPDATE", "NEW.state = 'closed'"):
            answered = team.editor.again().delete(f"/change-set/{made['id']}")
        team.world.work_off()

        assert answered.ok()["state"] == "closed"
        assert team.read(made)["state"] == "closed"

    def test_branch_of_a_set_that_cannot_be_stored_is_deleted(self, team: Team, app: Flask) -> None:
        before = team.repo.text("for-each-ref")
        with broken(app, "change_sets"):
            response = team.editor.again().client.post(f"/api/v1{team.sets}", json={"title": "New"})

        assert (response.status_code, team.repo.text("for-each-ref")) == (500, before)


class TestBranches:
    def test_deleted_branch_is_answered(self, team: Team, app: Flask) -> None:
        url = f"/project/{team.project}/branches"
        team.editor.again().post(url, {"branch": "spare"}).ok(201)
        team.editor.again().get(f"/project-content/{team.project}?ref=spare").ok()
        with broken(app, "content_indexes", "DELETE"):
            deleted = team.editor.again().delete(f"{url}/spare").ok()
        team.world.work_off()

        assert deleted == {"name": "spare", "deleted": True}
        with app.app_context():
            assert not db.session.scalar(sa.text("SELECT count(*) FROM content_indexes WHERE branch = 'spare'"))

    def test_created_branch_is_answered_when_its_response_cannot_be_stored(self, team: Team, app: Flask) -> None:
        with broken(app, "idempotency_keys", event="UPDATE"):
            created = team.owner.again().call(
                "POST", f"/project/{team.project}/branches", {"branch": "new"}, headers={"Idempotency-Key": "branch"}
            )
        assert created.ok(201)["name"] == "new"
        assert team.repo.head("new") == team.repo.head()
