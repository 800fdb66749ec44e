"""The reaper: rows and jails agree again, whichever of them was lost; and what goes with a project."""

import os
import shutil
import signal
import time
import uuid
from collections.abc import Callable, Mapping
from datetime import timedelta
from pathlib import Path

import sqlalchemy as sa
from flask import Flask

from app.core import clock
from app.drivers.sandbox.none import NoSandboxes
from app.drivers.sandbox.port import SandboxSpec
from app.extensions import db, drivers
from app.models.project import Project
from app.models.sandbox import Sandbox
from app.models.user import User
from app.resources.sandbox import jobs, service
from app.runtimes.choose import static
from tests.drivers.sandbox.machine import is_alive, is_locked, jails_of
from tests.resources.sandbox.conftest import PreviewSite


def reap(site: PreviewSite) -> None:
    with site.world.app.app_context():
        jobs.reconcile_sandboxes(sandbox=drivers.sandbox)


def root_of(site: PreviewSite) -> Path:
    root: Path = site.world.app.config["SETTINGS"].server.instance_dir / "sandboxes"
    return root


def soon(condition: Callable[[], bool], within_s: float = 10) -> None:
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
    soon(lambda: not any(map(is_alive, processes)) and not is_locked(folder))


def claimed(site: PreviewSite) -> str:
    """A row as a process leaves it that is killed before it has started anything."""
    with site.world.app.app_context():
        limits = site.world.app.config["SETTINGS"].limits.sandbox
        project, user = db.session.get_one(Project, site.project), db.session.get_one(User, site.owner.id)
        node = drivers.sandbox.node
        row, _ = service.claim(project, user, node=node, address="http://{}.preview.localhost/".format, limits=limits)
        db.session.commit()
        return row.id


class Named(NoSandboxes):
    """A host that calls its sandboxes otherwise than their callers do."""

    def __init__(self, names: dict[str, str]) -> None:
        self._names, self.stopped = names, list[str]()

    def list_sandboxes(self) -> dict[str, str]:
        return dict(self._names)

    def stop(self, reference: str) -> None:
        self.stopped.append(reference)


class TestReap:
    def test_what_lives_is_left_alone(self, site: PreviewSite) -> None:
        made = site.created()
        reap(site)
        assert site.held() == [made["sandboxName"]]
        assert site.beat().ok()["ok"] is True

    def test_an_expired_one_is_stopped(self, site: PreviewSite) -> None:
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

    def test_none_lives_the_longer_for_a_clock_that_goes_back(self, site: PreviewSite) -> None:
        with clock.shifted(timedelta(hours=1)):
            site.created()
        reap(site)
        assert len(site.held()) == 1
        with clock.shifted(timedelta(seconds=601)):
            reap(site)
        assert site.held() == []

    def test_beats_are_counted_in(self, site: PreviewSite) -> None:
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

    def test_a_killed_supervisor_s_row_is_ended(self, site: PreviewSite) -> None:
        made = site.created()
        kill_supervisor(root_of(site), made["sandboxName"])
        reap(site)
        assert site.record()["state"] == "stopped"
        assert site.held() == []
        assert site.beat().ok()["ok"] is False

    def test_a_call_to_create_after_that_starts_anew(self, site: PreviewSite) -> None:
        made = site.created()
        kill_supervisor(root_of(site), made["sandboxName"])
        assert site.created()["sandboxId"] != made["sandboxId"]

    def test_after_a_restart_of_the_machine_nothing_is_left(self, site: PreviewSite) -> None:
        """Processes are gone, folders stay: what a new boot finds."""
        made = site.created()
        kill(root_of(site), made["sandboxName"])
        reap(site)
        assert site.held() == []
        assert site.record()["state"] == "stopped"

    def test_a_folder_that_is_gone_ends_the_row(self, site: PreviewSite) -> None:
        made = site.created()
        kill(root_of(site), made["sandboxName"])
        shutil.rmtree(root_of(site) / made["sandboxName"])
        reap(site)
        assert site.record()["state"] == "stopped"

    def test_a_sandbox_without_a_row_is_stopped(self, site: PreviewSite) -> None:
        with site.world.app.app_context():
            host = drivers.sandbox
            host.start(SandboxSpec(uuid.uuid4().hex, "prj_gone", static(), 600), [])
        reap(site)
        assert site.held() == []

    def test_one_whose_starter_was_killed_after_it_was_started_goes_on(self, site: PreviewSite) -> None:
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

    def test_one_whose_starter_was_killed_before_is_given_up_within_half_a_minute(self, site: PreviewSite) -> None:
        claimed(site)
        with clock.shifted(timedelta(seconds=19)):
            reap(site)
            assert site.record_state() == "starting"
        with clock.shifted(timedelta(seconds=21)):
            reap(site)
            assert site.record_state() == "failed"

    def test_whoever_asks_next_need_not_wait_for_the_reaper(self, site: PreviewSite) -> None:
        lost = claimed(site)
        with clock.shifted(timedelta(seconds=21)):
            assert site.created()["sandboxId"] != lost

    def test_one_that_is_tended_may_take_three_minutes(self, site: PreviewSite) -> None:
        row = claimed(site)
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

    def test_one_that_is_being_started_is_not_swept(self, site: PreviewSite) -> None:
        """The host has its own names. The row does not contain the name yet."""
        row = claimed(site)
        with site.world.app.app_context():
            label = db.session.get_one(Sandbox, row).label
        host = Named({"vm-1": label, "vm-2": "nobody's"})
        with site.world.app.app_context():
            jobs.reconcile_sandboxes(sandbox=host)
        assert host.stopped == ["vm-2"]

    def test_old_rows_are_forgotten(self, site: PreviewSite) -> None:
        made = site.created()
        site.stop()
        with clock.shifted(timedelta(days=8)):
            reap(site)
        site.beat(sandboxId=made["sandboxId"]).fails(404)


class TestTogether:
    def test_the_sandbox_goes_with_the_record(self, site: PreviewSite) -> None:
        made = site.created()
        site.owner.delete(f"/project-preview/{site.project}").ok()
        site.world.work_off()
        assert site.held() == []
        assert site.beat(sandboxId=made["sandboxId"]).ok()["ok"] is False
        site.owner.get(f"/project-preview/{site.project}").fails(404)

    def test_the_sandbox_goes_with_the_project(self, site: PreviewSite) -> None:
        site.created()
        site.owner.delete(f"/project/{site.project}").ok()
        site.world.work_off()
        assert site.held() == []

    def test_the_sandbox_goes_with_the_organization(self, site: PreviewSite) -> None:
        site.created()
        site.owner.delete(f"/organization/{site.organization}").ok()
        site.world.work_off()
        assert site.held() == []

    def test_the_sandbox_goes_with_another_repository(self, site: PreviewSite) -> None:
        site.created()
        site.owner.patch(f"/project/git/{site.project}", {"repository": "", "branch": ""}).ok()
        site.world.work_off()
        assert site.held() == []


class BrokenHost(NoSandboxes):
    """Host with two orphans; the first one cannot be removed."""

    node = "broken"

    def __init__(self) -> None:
        self.stopped: list[str] = []

    def list_sandboxes(self) -> Mapping[str, str]:
        return {"first": "first", "second": "second"}

    def stop(self, reference: str) -> None:
        if reference == "first":
            raise RecursionError
        self.stopped.append(reference)


def test_reconcile_sandboxes_broken_sandbox_does_not_stop_cleanup_of_others(app: Flask) -> None:
    host = BrokenHost()
    with app.app_context():
        jobs.reconcile_sandboxes(sandbox=host)
    assert host.stopped == ["second"]
