"""Tests of `/api/sandbox`: create or connect, heartbeat and stop, on a plain site in a real jail."""

import threading
import time
from dataclasses import replace
from datetime import datetime

import pytest
from flask import Flask

from app.extensions import drivers
from app.rate_limiting.counter import RateCounter
from tests.drivers.sandbox.contract import fetch
from tests.resources.sandbox.conftest import PreviewSite, make_site
from tests.support import factories
from tests.support.world import World

pytestmark = pytest.mark.slow

STEPS = ["Checking session", "Cloning repository", "Installing dependencies", "Starting server", "Waiting for server"]


class TestCreate:
    def test_create_with_json_returns_the_running_sandbox(self, site: PreviewSite) -> None:
        response = site.create()
        answer = response.ok(201)
        assert response.json["previewUrl"] == answer["previewUrl"], "flat surfaces carry the keys at the top as well"
        assert answer["done"] is True
        assert answer["sandboxId"].startswith("sbx_")
        assert answer["status"] == "running"
        assert answer["commitSha"] == site.repo.head()
        assert answer["previewUrl"].startswith(f"http://{answer['sandboxName']}.preview.localhost")
        assert len(answer["sandboxName"]) == 32

    def test_create_with_events_streams_the_steps_and_the_sandbox(self, site: PreviewSite) -> None:
        events = site.streamed()
        steps = [event["step"] for event in events[:-1]]
        assert list(dict.fromkeys(steps)) == STEPS
        assert steps == sorted(steps, key=STEPS.index)
        assert events[-1]["done"] is True
        assert events[-1]["commitSha"] == site.repo.head()

    def test_second_call_connects_to_the_first_sandbox(self, site: PreviewSite) -> None:
        first = site.created()
        second = site.create(site.editor)
        assert second.status == 200
        assert second.ok()["sandboxId"] == first["sandboxId"]
        assert second.ok()["previewUrl"] != first["previewUrl"], "each member's link lets that member in"

    def test_parallel_calls_create_one_sandbox(self, site: PreviewSite) -> None:
        items: list[str] = []

        def create() -> None:
            items.append(site.created()["sandboxId"])

        threads = [threading.Thread(target=create) for _ in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(items) == 6
        assert len(set(items)) == 1
        assert len(site.held()) == 1

    def test_named_commit_is_served(self, site: PreviewSite) -> None:
        old = site.repo.head()
        site.repo.commit({"index.html": b"newer\n"})
        assert site.created(commitSha=old)["commitSha"] == old

    def test_commit_that_no_branch_contains_is_not_served(self, site: PreviewSite) -> None:
        removed = site.repo.commit({"index.html": b"removed\n"}, branch="removed", start=site.repo.head())
        site.repo.git("update-ref", "-d", "refs/heads/removed")
        site.create(commitSha=removed).fails(422, "NOT_FOUND")
        assert site.held() == []

    def test_force_sync_replaces_files_and_retains_id_label_and_url(self, site: PreviewSite) -> None:
        first = site.created()
        newest = site.repo.commit({"index.html": b"newer\n"})
        second = site.created(forceSync=True)
        names = ("sandboxId", "sandboxName")
        assert [second[name] for name in names] == [first[name] for name in names]
        assert second["previewUrl"].partition("?")[0] == first["previewUrl"].partition("?")[0]
        assert second["commitSha"] == newest
        held = site.held()
        assert len(held) == 1
        with site.world.app.app_context():
            assert fetch(drivers.sandbox, held[0])[1] == b"newer\n"

    def test_parallel_force_syncs_leave_one_sandbox(self, site: PreviewSite) -> None:
        first = site.created()
        statuses: list[int] = []

        def force() -> None:
            statuses.append(site.create(forceSync=True).status)

        threads = [threading.Thread(target=force) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert set(statuses) <= {200, 201}
        assert site.created()["sandboxId"] == first["sandboxId"]
        deadline = time.monotonic() + 120
        while len(site.held()) != 1:
            assert time.monotonic() < deadline
            time.sleep(0.05)

    @pytest.fixture
    def failing_site(self, world: World, stop_sandboxes: None) -> PreviewSite:
        manifest = b'{"scripts": {"dev": "printf \'\\\\033[31mred\\\\033[0m\' && missing-tool"}}'
        return make_site(world, {"package.json": manifest})

    def test_failed_start_returns_step_hint_and_log(self, failing_site: PreviewSite) -> None:
        answer = failing_site.create().fails(422, "SANDBOX_FAILED")
        result = answer["result"]
        assert result["step"] == "Waiting for server"
        assert "“missing-tool” does not exist" in result["hint"]
        assert "missing-tool: not found" in result["log_tail"]
        assert "\x1b" not in result["log_tail"]
        assert failing_site.record()["failure"] == {name: result[name] for name in result if name != "log_url"}

    def test_failed_start_ends_the_stream_with_step_hint_and_log(self, failing_site: PreviewSite) -> None:
        event = failing_site.streamed()[-1]
        assert (event["code"], event["step"]) == ("SANDBOX_FAILED", "Waiting for server")
        assert "missing-tool" in event["hint"]
        assert "missing-tool: not found" in event["log_tail"]
        assert event["log_url"].startswith(failing_site.record()["preview_url"])

    @pytest.mark.one_database
    def test_invalid_options_return_422_with_path(self, world: World, stop_sandboxes: None) -> None:
        site = make_site(world, {"index.html": b"x", ".galley.yml": b"preview: {port: 80}"})
        answer = site.create().fails(422, "RUNTIME_UNKNOWN")
        assert "preview.port" in answer["message"]

    def test_only_if_active_without_a_sandbox_starts_none(self, site: PreviewSite) -> None:
        answer = site.create(onlyIfActive=True)
        assert (answer.ok(), answer.json["message"]) == ({"active": False}, "No preview is running")
        assert site.streamed(onlyIfActive=True) == [{"done": True, "active": False}]
        assert site.held() == []

    def test_only_if_active_writes_the_uncommitted_file_into_the_running_sandbox(self, site: PreviewSite) -> None:
        first = site.created()
        file = {"path": "draft/new.html", "content": "unsaved"}
        answer = site.create(onlyIfActive=True, uncommittedFile=file).ok()
        assert (answer["active"], answer["sandboxId"]) == (True, first["sandboxId"])
        assert answer["uncommittedSynced"] is True

    @pytest.mark.one_database
    def test_site_of_unknown_runtime_returns_422_and_is_recorded(self, world: World, stop_sandboxes: None) -> None:
        site = make_site(world, {"notes.txt": b"nothing to see"})
        site.create().fails(422, "RUNTIME_UNKNOWN")
        assert site.record()["state"] == "failed"
        assert site.streamed()[-1]["code"] == "RUNTIME_UNKNOWN"

    @pytest.mark.one_database
    def test_server_that_exits_returns_422_with_its_status(self, world: World, stop_sandboxes: None) -> None:
        package = b'{"scripts": {"dev": "echo sorry; exit 3"}}'
        site = make_site(world, {"package.json": package})
        refused = site.create().fails(422, "SANDBOX_FAILED")
        assert "status 3" in refused["message"]
        assert site.held() == []

    @pytest.mark.one_database
    def test_third_sandbox_of_a_user_returns_403(self, world: World, stop_sandboxes: None) -> None:
        site = make_site(world)
        site.created()
        others = [factories.project(world, site.owner, site.organization, repository_name(site)) for _ in range(2)]
        site.created(projectId=others[0])
        site.create(projectId=others[1]).fails(403, "LIMIT_REACHED")
        site.stop()
        site.created(projectId=others[1])

    @pytest.mark.one_database
    def test_invalid_body_returns_400_with_path(self, site: PreviewSite) -> None:
        site.create(projectId="nonsense").fails(400, None, "projectId")
        site.create(commitSha="abc").fails(400, None, "commitSha")
        bad = {"path": "../../etc/passwd", "content": ""}
        site.create(uncommittedFile=bad).fails(400, None, "uncommittedFile.path")

    @pytest.mark.one_database
    def test_nonmember_returns_403(self, site: PreviewSite, world: World) -> None:
        site.create(world.person()).fails(403)


class TestHeartbeat:
    def test_heartbeat_extends_the_expiry(self, site: PreviewSite) -> None:
        made = site.created()
        beat = site.beat().ok()
        assert beat["ok"] is True
        assert beat["status"] == "running"
        assert datetime.fromisoformat(beat["expiresAt"]) >= datetime.fromisoformat(made["expiresAt"])
        assert site.record()["expires_at"] == beat["expiresAt"]

    def test_sandbox_is_selected_by_its_id(self, site: PreviewSite) -> None:
        made = site.created()
        assert site.beat(sandboxId=made["sandboxId"]).ok()["ok"] is True

    def test_missing_sandbox_returns_status_stopped(self, site: PreviewSite) -> None:
        assert site.beat().ok() == {"ok": False, "status": "stopped", "expiresAt": None}

    @pytest.mark.one_database
    def test_sandbox_of_another_project_returns_404(self, site: PreviewSite, world: World) -> None:
        made = site.created()
        other = make_site(world)
        other.beat(projectId=other.project, sandboxId=made["sandboxId"]).fails(404)
        other.beat(sandboxId=made["sandboxId"]).fails(403)

    @pytest.mark.one_database
    def test_empty_body_returns_400_with_path(self, site: PreviewSite) -> None:
        site.owner.post("/api/sandbox/heartbeat", {}).fails(400, None, "projectId")


class TestStop:
    def test_stop_removes_the_sandbox(self, site: PreviewSite) -> None:
        made = site.created()
        assert site.held() == [made["sandboxName"]]
        assert site.stop().ok() == {"ok": True}
        assert site.held() == []
        assert site.record()["state"] == "stopped"

    def test_stop_without_a_sandbox_succeeds(self, site: PreviewSite) -> None:
        assert site.stop().ok() == {"ok": True}

    def test_beacon_body_is_read_as_json(self, site: PreviewSite) -> None:
        site.created()
        body = f'{{"projectId": "{site.project}"}}'
        answer = site.owner.call("POST", "/api/sandbox/stop", data=body, content_type="text/plain;charset=UTF-8")
        assert answer.ok() == {"ok": True}
        assert site.held() == []


def repository_name(site: PreviewSite) -> str:
    """Return the name of the repository, for another project that uses it."""
    return f"acme/{site.repo.folder.name.removesuffix('.git')}"


@pytest.mark.one_database
class TestRateLimit:
    @pytest.fixture(autouse=True)
    def production_rates(self, app: Flask, monkeypatch: pytest.MonkeyPatch) -> None:
        """Apply the rates of production."""
        settings = app.config["SETTINGS"]
        server = replace(settings.server, rate_limit_scale=1.0)
        monkeypatch.setitem(app.config, "SETTINGS", replace(settings, server=server))
        monkeypatch.setitem(app.extensions, "rates", RateCounter())

    def test_eleventh_start_within_an_hour_returns_429(self, site: PreviewSite) -> None:
        site.created()
        assert [site.create(forceSync=True).status for _ in range(10)] == [201] * 9 + [429]
        assert site.create().status == 200
        site.stop()
        assert site.create().status == 429
        assert (site.record_state(), site.held()) == ("stopped", [])

    def test_failed_start_is_counted(self, site: PreviewSite) -> None:
        assert [site.create(branch="missing").status for _ in range(11)][-1] == 429

    def test_connection_is_not_counted(self, site: PreviewSite) -> None:
        assert [site.create().status for _ in range(12)] == [201] + [200] * 11

    def test_sync_of_an_uncommitted_file_is_not_counted(self, site: PreviewSite) -> None:
        site.created()
        file = {"path": "index.html", "content": "typing"}
        assert {site.create(onlyIfActive=True, uncommittedFile=file).status for _ in range(30)} == {200}
