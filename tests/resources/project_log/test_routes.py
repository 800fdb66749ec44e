"""Tests of the project log: reports of clients, the actor, filters and pages."""

import threading
import time
from typing import Any

import pytest

from app.database import transactions
from app.extensions import db
from app.models.project_log import LogAction, LogSource
from app.models.user import User
from app.resources.project.events import FileEvent, FilesChanged
from app.resources.project_log import service
from tests.support import factories
from tests.support.world import Person, World


class Log:
    """The project of a user with its log."""

    def __init__(self, world: World) -> None:
        self.world, self.owner = world, world.person()
        name, _ = factories.repository(world, {"a.md": b"a\n"})
        self.project = factories.project(world, self.owner, factories.organization(world, self.owner), name)

    def record(self, action: str = "update", file: str = "content/a.md", **more: Any) -> Any:
        return self.owner.post(f"/project-log/{self.project}", {"action": action, "file": file} | more)

    def read(self, who: Person | None = None, **query: Any) -> Any:
        return (who or self.owner).get(f"/project-log/{self.project}", query_string=query)


@pytest.fixture
def log(world: World) -> Log:
    return Log(world)


class TestRecord:
    def test_record_sets_actor_project_and_time_on_the_server(self, log: Log) -> None:
        stranger = log.world.person()
        entry = log.record(user_id=stranger.id, user_name="Forged", source="commit", project_id="x", createdAt="x").ok(
            201
        )
        assert (entry["user_id"], entry["source"], entry["commit_sha"]) == (log.owner.id, "client", None)
        assert entry["user_name"] != "Forged"
        assert entry["createdAt"].endswith("Z")

    @pytest.mark.parametrize("action", ["create", "update", "delete", "rename", "duplicate"])
    def test_every_action_is_recorded(self, log: Log, action: str) -> None:
        assert log.record(action).ok(201)["action"] == action

    @pytest.mark.parametrize(
        ("file", "kind"), [("a/b.MD", "md"), ("Makefile", None), (".env", None), ("a.tar.gz", "gz")]
    )
    def test_record_derives_the_file_type_from_the_name(self, log: Log, file: str, kind: str | None) -> None:
        assert log.record(file=file).ok(201)["file_type"] == kind

    @pytest.mark.one_database
    @pytest.mark.parametrize(
        ("body", "path"), [({"action": "explode"}, "action"), ({"file": ""}, "file"), ({"file": "x" * 1025}, "file")]
    )
    def test_invalid_body_returns_400_with_path(self, log: Log, body: dict[str, Any], path: str) -> None:
        log.owner.post(f"/project-log/{log.project}", {"action": "update", "file": "a"} | body).fails(400, None, path)

    @pytest.mark.one_database
    @pytest.mark.parametrize(
        "file", ["/etc/passwd", "../a.md", "a//b.md", "a\nb.md", "a\\b.md", ".git/config", "é" * 600]
    )
    def test_invalid_path_returns_400_with_path(self, log: Log, file: str) -> None:
        log.record(file=file).fails(400, None, "file")

    def test_file_name_is_stored_unchanged(self, log: Log) -> None:
        assert log.record(file=" a b.md ").ok(201)["file"] == " a b.md "


class TestRead:
    def test_pages_contain_every_entry_once_newest_first(self, log: Log) -> None:
        for n in range(7):
            log.record(file=f"f{n}.md")
        seen, query = [], {"limit": 3}
        while True:
            page = log.read(**query).ok()
            assert page["meta"]["total"] == 7
            seen += [entry["file"] for entry in page["logs"]]
            if page["meta"]["next_cursor"] is None:
                break
            query["cursor"] = page["meta"]["next_cursor"]
        assert seen == [f"f{n}.md" for n in range(6, -1, -1)]

    def test_list_filters_by_action_and_file(self, log: Log) -> None:
        log.record("create", "a.md")
        log.record("update", "a.md")
        log.record("update", "b.md")
        assert [e["action"] for e in log.read(file="a.md").ok()["logs"]] == ["update", "create"]
        assert [e["file"] for e in log.read(action="update").ok()["logs"]] == ["b.md", "a.md"]
        assert log.read(action="update", file="a.md").ok()["meta"]["total"] == 1

    @pytest.mark.one_database
    @pytest.mark.parametrize(
        ("query", "path"),
        [
            ({"limit": "x"}, "limit"),
            ({"cursor": "rubbish"}, "cursor"),
            ({"action": "x"}, "action"),
            ({"file": "a\0"}, "file"),
        ],
    )
    def test_invalid_query_returns_400_with_path(self, log: Log, query: dict[str, Any], path: str) -> None:
        log.read(**query).fails(400, None, path)

    @pytest.mark.one_database
    def test_nonmember_returns_403(self, log: Log) -> None:
        log.read(log.world.person()).fails(403)


class TestPush:
    def test_push_is_named_in_an_entry_that_an_index_run_is_writing(self, log: Log) -> None:
        event, is_running = FileEvent("a.md", LogAction.UPDATE, "5a1e" * 10, "Unknown"), threading.Event()

        def push() -> None:
            is_running.set()
            with log.world.app.app_context(), transactions.write_transaction():
                user = db.session.get(User, log.owner.id)
                service.record_changes(FilesChanged(log.project, LogSource.PUSH, (event,), user))

        thread = threading.Thread(target=push)
        with log.world.app.app_context(), transactions.write_transaction():
            service.record_changes(FilesChanged(log.project, LogSource.PUSH, (event,)))
            thread.start()
            is_running.wait()
            time.sleep(0.5)  # The push waits for this transaction. The test passes as well if it is slower.
        thread.join()
        [entry] = log.read().ok()["logs"]
        assert entry["user_id"] == log.owner.id
