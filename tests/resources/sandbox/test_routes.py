"""`/api/sandbox`: create or connect, heartbeat, stop — on a plain site in a real jail."""

import threading
import time
from dataclasses import replace
from datetime import datetime

import pytest
from flask import Flask

from app.extensions import drivers
from app.rate_limiting.counter import RateCounter
from tests.drivers.sandbox.contract import fetch
from tests.resources.sandbox.conftest import Desk, make_desk
from tests.support import factories
from tests.support.world import World

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

    def test_create_force_sync_replaces_files_and_keeps_id_label_and_url(self, desk: Desk) -> None:
        first = desk.created()
        newest = desk.repo.commit({"index.html": b"newer\n"})
        second = desk.created(forceSync=True)
        names = ("sandboxId", "sandboxName")
        assert [second[name] for name in names] == [first[name] for name in names]
        assert second["previewUrl"].partition("?")[0] == first["previewUrl"].partition("?")[0]
        assert second["commitSha"] == newest
        held = desk.held()
        assert len(held) == 1
        with desk.world.app.app_context():
            assert fetch(drivers.sandbox, held[0])[1] == b"newer\n"

    def test_create_parallel_force_sync_keeps_one_sandbox(self, desk: Desk) -> None:
        first = desk.created()
        statuses: list[int] = []

        def force() -> None:
            statuses.append(desk.create(forceSync=True).status)

        threads = [threading.Thread(target=force) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert set(statuses) <= {200, 201}
        assert desk.created()["sandboxId"] == first["sandboxId"]
        deadline = time.monotonic() + 20
        while len(desk.held()) != 1:
            assert time.monotonic() < deadline
            time.sleep(0.05)

    @pytest.fixture
    def failing(self, world: World, no_sandbox_left: None) -> Desk:
        manifest = b'{"scripts": {"dev": "printf \'\\\\033[31mred\\\\033[0m\' && missing-tool"}}'
        return make_desk(world, {"package.json": manifest})

    def test_create_failed_start_reports_step_hint_and_log(self, failing: Desk) -> None:
        answer = failing.create().fails(422, "SANDBOX_FAILED")
        result = answer["result"]
        assert result["step"] == "Waiting for server"
        assert "“missing-tool” does not exist" in result["hint"]
        assert "missing-tool: not found" in result["log_tail"]
        assert "\x1b" not in result["log_tail"]
        assert failing.record()["failure"] == result

    def test_create_failed_start_ends_the_stream_with_step_hint_and_log(self, failing: Desk) -> None:
        event = failing.streamed()[-1]
        assert (event["code"], event["step"]) == ("SANDBOX_FAILED", "Waiting for server")
        assert "missing-tool" in event["hint"]
        assert "missing-tool: not found" in event["log_tail"]

    def test_create_invalid_options_are_named(self, world: World, no_sandbox_left: None) -> None:
        desk = make_desk(world, {"index.html": b"x", ".galley.yml": b"preview: {port: 80}"})
        answer = desk.create().fails(422, "RUNTIME_UNKNOWN")
        assert "preview.port" in answer["message"]

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
    def strict(self, app: Flask, monkeypatch: pytest.MonkeyPatch) -> None:
        """Apply the rates of production."""
        settings = app.config["SETTINGS"]
        server = replace(settings.server, rate_limit_scale=1.0)
        monkeypatch.setitem(app.config, "SETTINGS", replace(settings, server=server))
        monkeypatch.setitem(app.extensions, "rates", RateCounter())

    def test_create_eleventh_start_of_an_hour_is_refused(self, desk: Desk) -> None:
        desk.created()
        assert [desk.create(forceSync=True).status for _ in range(10)] == [201] * 9 + [429]
        assert desk.create().status == 200
        desk.stop()
        assert desk.create().status == 429
        assert (desk.record_state(), desk.held()) == ("stopped", [])

    def test_create_failed_start_counts(self, desk: Desk) -> None:
        assert [desk.create(branch="missing").status for _ in range(11)][-1] == 429

    def test_create_connection_does_not_count(self, desk: Desk) -> None:
        assert [desk.create().status for _ in range(12)] == [201] + [200] * 11

    def test_showing_unsaved_words_is_not_one_of_them(self, desk: Desk) -> None:
        desk.created()
        file = {"path": "index.html", "content": "typing"}
        assert {desk.create(onlyIfActive=True, uncommittedFile=file).status for _ in range(30)} == {200}
