"""Tests of the sandbox jobs: consistency of rows and jails after a loss, and deletion with the project."""

import os
import shutil
import signal
import time
import uuid
from collections.abc import Callable, Mapping
from datetime import timedelta
from pathlib import Path

import pytest
import sqlalchemy as sa
from flask import Flask

from app.core import clock
from app.database.transactions import reading_context
from app.drivers.sandbox.none import NoSandboxes
from app.drivers.sandbox.port import SandboxSpec, SandboxUnavailable
from app.extensions import db, drivers
from app.models.project import Project
from app.models.sandbox import Sandbox
from app.models.user import User
from app.resources.sandbox import jobs, service
from app.runtimes.choose import static
from tests.drivers.sandbox.machine import is_alive, is_locked, jails_of
from tests.resources.sandbox.conftest import PreviewSite

pytestmark = pytest.mark.sandbox


def reap(site: PreviewSite) -> None:
    with reading_context(site.world.app):
        jobs.reconcile_sandboxes(sandbox=drivers.sandbox)


def root_of(site: PreviewSite) -> Path:
    root: Path = site.world.app.config["SETTINGS"].server.instance_dir / "sandboxes"
    return root


def wait_until(condition: Callable[[], bool], within_s: float = 120) -> None:
    deadline = time.monotonic() + within_s
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def kill_supervisor(root: Path, name: str) -> None:
    """Kill the supervisor of a sandbox and wait for the end of all its processes."""
    processes = jails_of(root, name)
    os.kill(processes[0], signal.SIGKILL)
    wait_for_the_end(root / name, processes)


def kill(root: Path, name: str) -> None:
    """Kill all processes of a sandbox and wait for their end."""
    processes = jails_of(root, name)
    for pid in processes:
        os.kill(pid, signal.SIGKILL)
    wait_for_the_end(root / name, processes)


def wait_for_the_end(folder: Path, processes: list[int]) -> None:
    """Wait until the processes do not run. A process that ends still holds its lock for a moment."""
    wait_until(lambda: not any(map(is_alive, processes)) and not is_locked(folder))


def claim_sandbox(site: PreviewSite) -> str:
    """Store the row of a process that was killed before it started a sandbox."""
    with site.world.app.app_context():
        limits = site.world.app.config["SETTINGS"].limits.sandbox
        project, user = db.session.get_one(Project, site.project), db.session.get_one(User, site.owner.id)
        node = drivers.sandbox.node
        row, _ = service.claim(project, user, node=node, address="http://{}.preview.localhost/".format, limits=limits)
        db.session.commit()
        return row.id


class LabeledHost(NoSandboxes):
    """Host whose references differ from the labels of its sandboxes."""

    def __init__(self, names: dict[str, str]) -> None:
        self._names, self.stopped = names, list[str]()

    def list_sandboxes(self) -> dict[str, str]:
        return dict(self._names)

    def stop(self, reference: str) -> None:
        self.stopped.append(reference)


class TestReconcileSandboxes:
    def test_running_sandbox_is_not_stopped(self, site: PreviewSite) -> None:
        made = site.created()
        reap(site)
        assert site.held() == [made["sandboxName"]]
        assert site.beat().ok()["ok"] is True

    def test_expired_sandbox_is_stopped(self, site: PreviewSite) -> None:
        made = site.created()
        processes = jails_of(root_of(site), made["sandboxName"])
        with clock.shifted(timedelta(seconds=580)):
            reap(site)
        assert len(site.held()) == 1
        with clock.shifted(timedelta(seconds=601)):
            reap(site)
        assert site.held() == []
        assert not any(map(is_alive, processes))
        assert site.record()["state"] == "stopped"

    def test_clock_set_back_does_not_extend_the_lease(self, site: PreviewSite) -> None:
        with clock.shifted(timedelta(hours=1)):
            site.created()
        reap(site)
        assert len(site.held()) == 1
        with clock.shifted(timedelta(seconds=601)):
            reap(site)
        assert site.held() == []

    def test_heartbeats_extend_the_lease(self, site: PreviewSite) -> None:
        site.created()
        with clock.shifted(timedelta(seconds=500)):
            assert site.beat().ok()["ok"] is True
        with clock.shifted(timedelta(seconds=700)):
            reap(site)
            assert len(site.held()) == 1
            assert site.beat().ok()["ok"] is True
        with clock.shifted(timedelta(seconds=3601)):
            assert site.beat().ok()["ok"] is False
            reap(site)
        assert site.held() == []

    def test_row_of_a_killed_supervisor_is_stopped(self, site: PreviewSite) -> None:
        made = site.created()
        kill_supervisor(root_of(site), made["sandboxName"])
        reap(site)
        assert site.record()["state"] == "stopped"
        assert site.held() == []
        assert site.beat().ok()["ok"] is False

    def test_create_after_a_killed_supervisor_starts_a_new_sandbox(self, site: PreviewSite) -> None:
        made = site.created()
        kill_supervisor(root_of(site), made["sandboxName"])
        assert site.created()["sandboxId"] != made["sandboxId"]

    def test_sandbox_after_a_machine_restart_is_removed(self, site: PreviewSite) -> None:
        """After a boot, the folders exist without processes."""
        made = site.created()
        kill(root_of(site), made["sandboxName"])
        reap(site)
        assert site.held() == []
        assert site.record()["state"] == "stopped"

    def test_missing_folder_ends_the_row(self, site: PreviewSite) -> None:
        made = site.created()
        kill(root_of(site), made["sandboxName"])
        shutil.rmtree(root_of(site) / made["sandboxName"])
        reap(site)
        assert site.record()["state"] == "stopped"

    def test_sandbox_without_a_row_is_stopped(self, site: PreviewSite) -> None:
        with site.world.app.app_context():
            host = drivers.sandbox
            host.start(SandboxSpec(uuid.uuid4().hex, "prj_gone", static(), 600), [])
        reap(site)
        assert site.held() == []

    def test_sandbox_of_a_killed_starter_after_the_start_is_adopted(self, site: PreviewSite) -> None:
        made = site.created()
        with site.world.app.app_context():
            db.session.execute(
                sa.update(Sandbox).where(Sandbox.id == made["sandboxId"]).values(host_id=None, state="starting")
            )
            db.session.commit()
        with clock.shifted(timedelta(seconds=21)):
            reap(site)
            reap(site)
            assert site.create(onlyIfActive=True).ok()["sandboxId"] == made["sandboxId"]

    def test_sandbox_of_a_killed_starter_before_the_start_fails_after_20_seconds(self, site: PreviewSite) -> None:
        claim_sandbox(site)
        with clock.shifted(timedelta(seconds=19)):
            reap(site)
            assert site.record_state() == "starting"
        with clock.shifted(timedelta(seconds=21)):
            reap(site)
            assert site.record_state() == "failed"

    def test_create_replaces_an_abandoned_start_without_the_job(self, site: PreviewSite) -> None:
        lost = claim_sandbox(site)
        with clock.shifted(timedelta(seconds=21)):
            assert site.created()["sandboxId"] != lost

    def test_start_with_heartbeats_fails_after_three_minutes(self, site: PreviewSite) -> None:
        row = claim_sandbox(site)
        for after_s in range(15, 180, 15):
            with clock.shifted(timedelta(seconds=after_s)):
                with site.world.app.app_context():
                    service.record_start_heartbeat(row, db.session.get_one(Sandbox, row).start_id or "")
                    db.session.commit()
                reap(site)
                assert site.record_state() == "starting"
        with clock.shifted(timedelta(seconds=181)):
            reap(site)
        assert site.record_state() == "failed"

    def test_starting_sandbox_is_not_stopped(self, site: PreviewSite) -> None:
        """The host has its own names. The row does not contain the name yet."""
        row = claim_sandbox(site)
        with site.world.app.app_context():
            label = db.session.get_one(Sandbox, row).label
        host = LabeledHost({"vm-1": label, "vm-2": "nobody's"})
        with reading_context(site.world.app):
            jobs.reconcile_sandboxes(sandbox=host)
        assert host.stopped == ["vm-2"]

    def test_old_rows_are_deleted(self, site: PreviewSite) -> None:
        made = site.created()
        site.stop()
        with clock.shifted(timedelta(days=8)):
            reap(site)
        site.beat(sandboxId=made["sandboxId"]).fails(404)


class TestDeletion:
    def test_deletion_of_the_record_stops_the_sandbox(self, site: PreviewSite) -> None:
        made = site.created()
        site.owner.delete(f"/project-preview/{site.project}").ok()
        site.world.work_off()
        assert site.held() == []
        assert site.beat(sandboxId=made["sandboxId"]).ok()["ok"] is False
        site.owner.get(f"/project-preview/{site.project}").fails(404)

    def test_deletion_of_the_project_stops_the_sandbox(self, site: PreviewSite) -> None:
        site.created()
        site.owner.delete(f"/project/{site.project}").ok()
        site.world.work_off()
        assert site.held() == []

    def test_deletion_of_the_organization_stops_the_sandbox(self, site: PreviewSite) -> None:
        site.created()
        site.owner.delete(f"/organization/{site.organization}").ok()
        site.world.work_off()
        assert site.held() == []

    def test_change_of_the_repository_stops_the_sandbox(self, site: PreviewSite) -> None:
        site.created()
        site.owner.patch(f"/project/git/{site.project}", {"repository": "", "branch": ""}).ok()
        site.world.work_off()
        assert site.held() == []


class BrokenHost(NoSandboxes):
    """Host with two orphans. The removal of the first one fails."""

    node = "broken"

    def __init__(self, error: Exception) -> None:
        self.error = error
        self.stopped: list[str] = []

    def list_sandboxes(self) -> Mapping[str, str]:
        return {"first": "first", "second": "second"}

    def stop(self, reference: str) -> None:
        if reference == "first":
            raise self.error
        self.stopped.append(reference)


@pytest.mark.parametrize(
    "error",
    [SandboxUnavailable("x"), RecursionError(), OSError(24, "x"), KeyError("x"), UnicodeEncodeError("x", "", 0, 1, "")],
)
def test_reconcile_sandboxes_with_a_failing_sandbox_stops_the_others(app: Flask, error: Exception) -> None:
    host = BrokenHost(error)
    with reading_context(app):
        jobs.reconcile_sandboxes(sandbox=host)
    assert host.stopped == ["second"]
