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
from tests.resources.sandbox.conftest import PreviewSite, make_site
from tests.support import factories
from tests.support.world import World

STEPS = ["Checking session", "Cloning repository", "Installing dependencies", "Starting server", "Waiting for server"]


class TestCreate:
    def test_json_comes_when_the_site_runs(self, site: PreviewSite) -> None:
        made = site.create()
        answer = made.ok(201)
        assert made.json["previewUrl"] == answer["previewUrl"], "flat surfaces carry the keys at the top as well"
        assert answer["done"] is True
        assert answer["sandboxId"].startswith("sbx_")
        assert answer["status"] == "running"
        assert answer["commitSha"] == site.repo.head()
        assert answer["previewUrl"].startswith(f"http://{answer['sandboxName']}.preview.localhost")
        assert len(answer["sandboxName"]) == 32

    def test_the_steps_come_as_events_and_the_sandbox_last(self, site: PreviewSite) -> None:
        events = site.streamed()
        assert [event["step"] for event in events[:-1]] == STEPS
        assert events[-1]["done"] is True
        assert events[-1]["commitSha"] == site.repo.head()

    def test_a_second_call_connects_to_the_first_sandbox(self, site: PreviewSite) -> None:
        first = site.created()
        second = site.create(site.editor)
        assert second.status == 200
        assert second.ok()["sandboxId"] == first["sandboxId"]
        assert second.ok()["previewUrl"] != first["previewUrl"], "each member's link lets that member in"

    def test_racing_calls_make_one_sandbox(self, site: PreviewSite) -> None:
        found: list[str] = []

        def create() -> None:
            found.append(site.created()["sandboxId"])

        threads = [threading.Thread(target=create) for _ in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(found) == 6
        assert len(set(found)) == 1
        assert len(site.held()) == 1

    def test_a_branch_or_a_commit_is_shown_where_it_is_named(self, site: PreviewSite) -> None:
        old = site.repo.head()
        site.repo.commit({"index.html": b"newer\n"})
        assert site.created(commitSha=old)["commitSha"] == old

    def test_create_force_sync_replaces_files_and_keeps_id_label_and_url(self, site: PreviewSite) -> None:
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

    def test_create_parallel_force_sync_keeps_one_sandbox(self, site: PreviewSite) -> None:
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
        deadline = time.monotonic() + 20
        while len(site.held()) != 1:
            assert time.monotonic() < deadline
            time.sleep(0.05)

    @pytest.fixture
    def failing(self, world: World, stop_sandboxes: None) -> PreviewSite:
        manifest = b'{"scripts": {"dev": "printf \'\\\\033[31mred\\\\033[0m\' && missing-tool"}}'
        return make_site(world, {"package.json": manifest})

    def test_create_failed_start_reports_step_hint_and_log(self, failing: PreviewSite) -> None:
        answer = failing.create().fails(422, "SANDBOX_FAILED")
        result = answer["result"]
        assert result["step"] == "Waiting for server"
        assert "“missing-tool” does not exist" in result["hint"]
        assert "missing-tool: not found" in result["log_tail"]
        assert "\x1b" not in result["log_tail"]
        assert failing.record()["failure"] == result

    def test_create_failed_start_ends_the_stream_with_step_hint_and_log(self, failing: PreviewSite) -> None:
        event = failing.streamed()[-1]
        assert (event["code"], event["step"]) == ("SANDBOX_FAILED", "Waiting for server")
        assert "missing-tool" in event["hint"]
        assert "missing-tool: not found" in event["log_tail"]

    def test_create_invalid_options_are_named(self, world: World, stop_sandboxes: None) -> None:
        site = make_site(world, {"index.html": b"x", ".galley.yml": b"preview: {port: 80}"})
        answer = site.create().fails(422, "RUNTIME_UNKNOWN")
        assert "preview.port" in answer["message"]

    def test_only_if_active_starts_none(self, site: PreviewSite) -> None:
        answer = site.create(onlyIfActive=True)
        assert (answer.ok(), answer.json["message"]) == ({"active": False}, "No preview is running")
        assert site.streamed(onlyIfActive=True) == [{"done": True, "active": False}]
        assert site.held() == []

    def test_only_if_active_writes_the_uncommitted_file_into_the_running_one(self, site: PreviewSite) -> None:
        first = site.created()
        file = {"path": "draft/new.html", "content": "unsaved"}
        answer = site.create(onlyIfActive=True, uncommittedFile=file).ok()
        assert (answer["active"], answer["sandboxId"]) == (True, first["sandboxId"])
        assert answer["uncommittedSynced"] is True

    def test_a_site_that_nothing_tells_how_to_serve_is_refused_and_recorded(
        self, world: World, stop_sandboxes: None
    ) -> None:
        site = make_site(world, {"notes.txt": b"nothing to see"})
        site.create().fails(422, "RUNTIME_UNKNOWN")
        assert site.record()["state"] == "failed"
        assert site.streamed()[-1]["code"] == "RUNTIME_UNKNOWN"

    def test_a_server_that_ends_is_told_with_its_status(self, world: World, stop_sandboxes: None) -> None:
        package = b'{"scripts": {"dev": "echo sorry; exit 3"}}'
        site = make_site(world, {"package.json": package})
        refused = site.create().fails(422, "SANDBOX_FAILED")
        assert "status 3" in refused["message"]
        assert site.held() == []

    def test_a_user_may_have_two_and_an_organization_four(self, world: World, stop_sandboxes: None) -> None:
        site = make_site(world)
        site.created()
        others = [factories.project(world, site.owner, site.organization, repository_name(site)) for _ in range(2)]
        site.created(projectId=others[0])
        site.create(projectId=others[1]).fails(403, "LIMIT_REACHED")
        site.stop()
        site.created(projectId=others[1])

    def test_a_body_that_does_not_fit_is_refused(self, site: PreviewSite) -> None:
        site.create(projectId="nonsense").fails(400, None, "projectId")
        site.create(commitSha="abc").fails(400, None, "commitSha")
        bad = {"path": "../../etc/passwd", "content": ""}
        site.create(uncommittedFile=bad).fails(400, None, "uncommittedFile.path")

    def test_strangers_may_not(self, site: PreviewSite, world: World) -> None:
        site.create(world.person()).fails(403)


class TestHeartbeat:
    def test_a_live_sandbox_lives_longer(self, site: PreviewSite) -> None:
        made = site.created()
        beat = site.beat().ok()
        assert beat["ok"] is True
        assert beat["status"] == "running"
        assert datetime.fromisoformat(beat["expiresAt"]) >= datetime.fromisoformat(made["expiresAt"])
        assert site.record()["expires_at"] == beat["expiresAt"]

    def test_it_is_found_by_its_id_as_well(self, site: PreviewSite) -> None:
        made = site.created()
        assert site.beat(sandboxId=made["sandboxId"]).ok()["ok"] is True

    def test_a_gone_one_is_told(self, site: PreviewSite) -> None:
        assert site.beat().ok() == {"ok": False, "status": "stopped", "expiresAt": None}

    def test_a_sandbox_of_another_project_is_none(self, site: PreviewSite, world: World) -> None:
        made = site.created()
        other = make_site(world)
        other.beat(projectId=other.project, sandboxId=made["sandboxId"]).fails(404)
        other.beat(sandboxId=made["sandboxId"]).fails(403)

    def test_a_body_that_names_nothing_is_refused(self, site: PreviewSite) -> None:
        site.owner.post("/api/sandbox/heartbeat", {}).fails(400, None, "projectId")


class TestStop:
    def test_the_sandbox_is_gone_at_once(self, site: PreviewSite) -> None:
        made = site.created()
        assert site.held() == [made["sandboxName"]]
        assert site.stop().ok() == {"ok": True}
        assert site.held() == []
        assert site.record()["state"] == "stopped"

    def test_stopping_what_is_gone_is_no_error(self, site: PreviewSite) -> None:
        assert site.stop().ok() == {"ok": True}

    def test_a_beacon_is_read_as_json(self, site: PreviewSite) -> None:
        site.created()
        body = f'{{"projectId": "{site.project}"}}'
        answer = site.owner.call("POST", "/api/sandbox/stop", data=body, content_type="text/plain;charset=UTF-8")
        assert answer.ok() == {"ok": True}
        assert site.held() == []


def repository_name(site: PreviewSite) -> str:
    """Return the name of the repository, for another project that uses it."""
    return f"acme/{site.repo.folder.name.removesuffix('.git')}"


class TestRate:
    @pytest.fixture(autouse=True)
    def strict(self, app: Flask, monkeypatch: pytest.MonkeyPatch) -> None:
        """Apply the rates of production."""
        settings = app.config["SETTINGS"]
        server = replace(settings.server, rate_limit_scale=1.0)
        monkeypatch.setitem(app.config, "SETTINGS", replace(settings, server=server))
        monkeypatch.setitem(app.extensions, "rates", RateCounter())

    def test_create_eleventh_start_of_an_hour_is_refused(self, site: PreviewSite) -> None:
        site.created()
        assert [site.create(forceSync=True).status for _ in range(10)] == [201] * 9 + [429]
        assert site.create().status == 200
        site.stop()
        assert site.create().status == 429
        assert (site.record_state(), site.held()) == ("stopped", [])

    def test_create_failed_start_counts(self, site: PreviewSite) -> None:
        assert [site.create(branch="missing").status for _ in range(11)][-1] == 429

    def test_create_connection_does_not_count(self, site: PreviewSite) -> None:
        assert [site.create().status for _ in range(12)] == [201] + [200] * 11

    def test_showing_unsaved_words_is_not_one_of_them(self, site: PreviewSite) -> None:
        site.created()
        file = {"path": "index.html", "content": "typing"}
        assert {site.create(onlyIfActive=True, uncommittedFile=file).status for _ in range(30)} == {200}
