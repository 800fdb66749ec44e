"""`/api/sandbox`: create or connect, heartbeat, stop — on a plain site in a real jail."""

import threading
from collections.abc import Iterator
from datetime import datetime

import pytest
from flask import Flask

from app.core.rates import RateCounter
from tests import factories
from tests.resources.sandbox.conftest import Desk, make_desk
from tests.world import World

STEPS = ["Checking session", "Cloning repository", "Installing dependencies", "Starting server", "Waiting for server"]


class TestCreate:
    def test_json_comes_when_the_site_runs(self, desk: Desk) -> None:
        made = desk.create()
        answer = made.ok(201)
        assert made.json["previewUrl"] == answer["previewUrl"], "flat surfaces carry the keys at the top as well"
        assert answer["done"] is True
        assert answer["sandboxId"].startswith("sbx_")
        assert answer["status"] == "running"
        assert answer["commitSha"] == desk.repo.head()
        assert answer["previewUrl"].startswith(f"http://{answer['sandboxName']}.preview.localhost")
        assert len(answer["sandboxName"]) == 32

    def test_the_steps_come_as_events_and_the_sandbox_last(self, desk: Desk) -> None:
        events = desk.streamed()
        assert [event["step"] for event in events[:-1]] == STEPS
        assert events[-1]["done"] is True
        assert events[-1]["commitSha"] == desk.repo.head()

    def test_a_second_call_connects_to_the_first_sandbox(self, desk: Desk) -> None:
        first = desk.created()
        second = desk.create(desk.editor)
        assert second.status == 200
        assert second.ok()["sandboxId"] == first["sandboxId"]
        assert second.ok()["previewUrl"] != first["previewUrl"], "each member's link lets that member in"

    def test_racing_calls_make_one_sandbox(self, desk: Desk) -> None:
        found: list[str] = []

        def create() -> None:
            found.append(desk.created()["sandboxId"])

        threads = [threading.Thread(target=create) for _ in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(found) == 6
        assert len(set(found)) == 1
        assert len(desk.held()) == 1

    def test_a_branch_or_a_commit_is_shown_where_it_is_named(self, desk: Desk) -> None:
        old = desk.repo.head()
        desk.repo.commit({"index.html": b"newer\n"})
        assert desk.created(commitSha=old)["commitSha"] == old

    def test_a_forced_call_starts_anew_at_the_newest_commit(self, desk: Desk) -> None:
        first = desk.created()
        newest = desk.repo.commit({"index.html": b"newer\n"})
        second = desk.created(forceSync=True)
        assert second["sandboxId"] != first["sandboxId"]
        assert second["commitSha"] == newest
        assert len(desk.held()) == 1

    def test_only_if_active_starts_none(self, desk: Desk) -> None:
        answer = desk.create(onlyIfActive=True)
        assert (answer.ok(), answer.json["message"]) == ({"active": False}, "No preview is running")
        assert desk.streamed(onlyIfActive=True) == [{"done": True, "active": False}]
        assert desk.held() == []

    def test_only_if_active_writes_the_uncommitted_file_into_the_running_one(self, desk: Desk) -> None:
        first = desk.created()
        file = {"path": "draft/new.html", "content": "unsaved"}
        answer = desk.create(onlyIfActive=True, uncommittedFile=file).ok()
        assert (answer["active"], answer["sandboxId"]) == (True, first["sandboxId"])
        assert answer["uncommittedSynced"] is True

    def test_a_site_that_nothing_tells_how_to_serve_is_refused_and_recorded(
        self, world: World, no_sandbox_left: None
    ) -> None:
        desk = make_desk(world, {"notes.txt": b"nothing to see"})
        desk.create().fails(422, "RUNTIME_UNKNOWN")
        assert desk.record()["state"] == "failed"
        assert desk.streamed()[-1]["code"] == "RUNTIME_UNKNOWN"

    def test_a_server_that_ends_is_told_with_its_status(self, world: World, no_sandbox_left: None) -> None:
        package = b'{"scripts": {"dev": "echo sorry; exit 3"}}'
        desk = make_desk(world, {"package.json": package})
        refused = desk.create().fails(422, "SANDBOX_FAILED")
        assert "status 3" in refused["message"]
        assert desk.held() == []

    def test_a_user_may_have_two_and_an_organization_four(self, world: World, no_sandbox_left: None) -> None:
        desk = make_desk(world)
        desk.created()
        others = [factories.project(world, desk.owner, desk.organization, desk_name(desk)) for _ in range(2)]
        desk.created(projectId=others[0])
        desk.create(projectId=others[1]).fails(403, "LIMIT_REACHED")
        desk.stop()
        desk.created(projectId=others[1])

    def test_a_body_that_does_not_fit_is_refused(self, desk: Desk) -> None:
        desk.create(projectId="nonsense").fails(400, None, "projectId")
        desk.create(commitSha="abc").fails(400, None, "commitSha")
        bad = {"path": "../../etc/passwd", "content": ""}
        desk.create(uncommittedFile=bad).fails(400, None, "uncommittedFile.path")

    def test_strangers_may_not(self, desk: Desk, world: World) -> None:
        desk.create(world.person()).fails(403)


class TestHeartbeat:
    def test_a_live_sandbox_lives_longer(self, desk: Desk) -> None:
        made = desk.created()
        beat = desk.beat().ok()
        assert beat["ok"] is True
        assert beat["status"] == "running"
        assert datetime.fromisoformat(beat["expiresAt"]) >= datetime.fromisoformat(made["expiresAt"])
        assert desk.record()["expires_at"] == beat["expiresAt"]

    def test_it_is_found_by_its_id_as_well(self, desk: Desk) -> None:
        made = desk.created()
        assert desk.beat(sandboxId=made["sandboxId"]).ok()["ok"] is True

    def test_a_gone_one_is_told(self, desk: Desk) -> None:
        assert desk.beat().ok() == {"ok": False, "status": "stopped", "expiresAt": None}

    def test_a_sandbox_of_another_project_is_none(self, desk: Desk, world: World) -> None:
        made = desk.created()
        other = make_desk(world)
        other.beat(projectId=other.project, sandboxId=made["sandboxId"]).fails(404)
        other.beat(sandboxId=made["sandboxId"]).fails(403)

    def test_a_body_that_names_nothing_is_refused(self, desk: Desk) -> None:
        desk.owner.post("/api/sandbox/heartbeat", {}).fails(400, None, "projectId")


class TestStop:
    def test_the_sandbox_is_gone_at_once(self, desk: Desk) -> None:
        made = desk.created()
        assert desk.held() == [made["sandboxName"]]
        assert desk.stop().ok() == {"ok": True}
        assert desk.held() == []
        assert desk.record()["state"] == "stopped"

    def test_stopping_what_is_gone_is_no_error(self, desk: Desk) -> None:
        assert desk.stop().ok() == {"ok": True}

    def test_a_beacon_is_read_as_json(self, desk: Desk) -> None:
        desk.created()
        body = f'{{"projectId": "{desk.project}"}}'
        answer = desk.owner.call("POST", "/api/sandbox/stop", data=body, content_type="text/plain;charset=UTF-8")
        assert answer.ok() == {"ok": True}
        assert desk.held() == []


def desk_name(desk: Desk) -> str:
    """The name of the desk's repository, for another project on it."""
    return f"acme/{desk.repo.folder.name.removesuffix('.git')}"


class TestRate:
    @pytest.fixture(autouse=True)
    def strict(self, app: Flask) -> Iterator[None]:
        """The true rates, counted from nothing."""
        known = app.extensions["rates"]
        app.extensions["rates"] = RateCounter()
        yield
        app.extensions["rates"] = known

    def test_ten_calls_an_hour_may_start_one(self, desk: Desk) -> None:
        assert [desk.create().status for _ in range(11)] == [201] + [200] * 9 + [429]

    def test_showing_unsaved_words_is_not_one_of_them(self, desk: Desk) -> None:
        desk.created()
        file = {"path": "index.html", "content": "typing"}
        assert {desk.create(onlyIfActive=True, uncommittedFile=file).status for _ in range(30)} == {200}
