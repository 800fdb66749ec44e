"""The reaper: rows and jails agree again, whichever of them was lost; and what goes with a project."""

import os
import shutil
import signal
import time
import uuid
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import sqlalchemy as sa

from app.core import clock
from app.core.runtimes.choose import static
from app.drivers.sandbox.port import Order
from app.extensions import db, drivers
from app.models.sandbox import Sandbox
from app.resources.sandbox import jobs
from tests.drivers.sandbox.machine import is_alive, jails_of
from tests.resources.sandbox.conftest import Desk


def reap(desk: Desk) -> None:
    with desk.world.app.app_context():
        jobs.reap(sandbox=drivers["sandbox"])


def root_of(desk: Desk) -> Path:
    root: Path = desk.world.app.config["SETTINGS"].server.instance_dir / "sandboxes"
    return root


def soon(condition: Callable[[], bool], within_s: float = 10) -> None:
    deadline = time.monotonic() + within_s
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.05)


class TestReap:
    def test_what_lives_is_left_alone(self, desk: Desk) -> None:
        made = desk.created()
        reap(desk)
        assert desk.held() == [made["sandboxName"]]
        assert desk.beat().ok()["ok"] is True

    def test_an_expired_one_is_stopped(self, desk: Desk) -> None:
        made = desk.created()
        processes = jails_of(root_of(desk), made["sandboxName"])
        with clock.moved(timedelta(seconds=580)):
            reap(desk)
        assert len(desk.held()) == 1
        with clock.moved(timedelta(seconds=601)):
            reap(desk)
        assert desk.held() == []
        assert not any(map(is_alive, processes))
        assert desk.record()["state"] == "stopped"

    def test_beats_are_counted_in(self, desk: Desk) -> None:
        desk.created()
        with clock.moved(timedelta(seconds=500)):
            assert desk.beat().ok()["ok"] is True
        with clock.moved(timedelta(seconds=700)):
            reap(desk)
            assert len(desk.held()) == 1
            assert desk.beat().ok()["ok"] is True
        with clock.moved(timedelta(seconds=3601)):
            assert desk.beat().ok()["ok"] is False
            reap(desk)
        assert desk.held() == []

    def test_a_killed_supervisor_s_row_is_ended(self, desk: Desk) -> None:
        made = desk.created()
        supervisor, *jail = jails_of(root_of(desk), made["sandboxName"])
        os.kill(supervisor, signal.SIGKILL)
        soon(lambda: not any(map(is_alive, jail)))
        reap(desk)
        assert desk.record()["state"] == "stopped"
        assert desk.held() == []
        assert desk.beat().ok()["ok"] is False

    def test_a_call_to_create_after_that_starts_anew(self, desk: Desk) -> None:
        made = desk.created()
        supervisor, *_ = jails_of(root_of(desk), made["sandboxName"])
        os.kill(supervisor, signal.SIGKILL)
        soon(lambda: not is_alive(supervisor))
        assert desk.created()["sandboxId"] != made["sandboxId"]

    def test_after_a_restart_of_the_machine_nothing_is_left(self, desk: Desk) -> None:
        """Processes are gone, folders stay: what a new boot finds."""
        made = desk.created()
        for pid in jails_of(root_of(desk), made["sandboxName"]):
            os.kill(pid, signal.SIGKILL)
        reap(desk)
        assert desk.held() == []
        assert desk.record()["state"] == "stopped"

    def test_a_folder_that_is_gone_ends_the_row(self, desk: Desk) -> None:
        made = desk.created()
        processes = jails_of(root_of(desk), made["sandboxName"])
        for pid in processes:
            os.kill(pid, signal.SIGKILL)
        shutil.rmtree(root_of(desk) / made["sandboxName"])
        reap(desk)
        assert desk.record()["state"] == "stopped"

    def test_a_sandbox_without_a_row_is_stopped(self, desk: Desk) -> None:
        with desk.world.app.app_context():
            host = drivers["sandbox"]
            host.start(Order(uuid.uuid4().hex, "prj_gone", static(), 600), [])
        reap(desk)
        assert desk.held() == []

    def test_one_whose_starter_was_killed_goes_on(self, desk: Desk) -> None:
        made = desk.created()
        with desk.world.app.app_context():
            db.session.execute(
                sa.update(Sandbox).where(Sandbox.id == made["sandboxId"]).values(reference=None, state="starting")
            )
            db.session.commit()
        reap(desk)
        reap(desk)
        assert desk.create(onlyIfActive=True).ok()["sandboxId"] == made["sandboxId"]

    def test_one_that_was_never_handed_over_is_given_up(self, desk: Desk) -> None:
        with desk.world.app.app_context():
            row = Sandbox(
                project_id=desk.project,
                user_id=desk.owner.id,
                label=uuid.uuid4().hex,
                node=drivers["sandbox"].node,
                expires_at=clock.now() + timedelta(seconds=600),
            )
            db.session.add(row)
            db.session.commit()
        with clock.moved(timedelta(seconds=240)):
            reap(desk)
        assert desk.create(onlyIfActive=True).ok() == {"active": False}

    def test_old_rows_are_forgotten(self, desk: Desk) -> None:
        made = desk.created()
        desk.stop()
        with clock.moved(timedelta(days=8)):
            reap(desk)
        desk.beat(sandboxId=made["sandboxId"]).fails(404)


class TestTogether:
    def test_the_sandbox_goes_with_the_record(self, desk: Desk) -> None:
        made = desk.created()
        desk.owner.delete(f"/project-preview/{desk.project}").ok()
        desk.world.work_off()
        assert desk.held() == []
        assert desk.beat(sandboxId=made["sandboxId"]).ok()["ok"] is False
        desk.owner.get(f"/project-preview/{desk.project}").fails(404)

    def test_the_sandbox_goes_with_the_project(self, desk: Desk) -> None:
        desk.created()
        desk.owner.delete(f"/project/{desk.project}").ok()
        desk.world.work_off()
        assert desk.held() == []

    def test_the_sandbox_goes_with_the_organization(self, desk: Desk) -> None:
        desk.created()
        desk.owner.delete(f"/organization/{desk.organization}").ok()
        desk.world.work_off()
        assert desk.held() == []

    def test_the_sandbox_goes_with_another_repository(self, desk: Desk) -> None:
        desk.created()
        desk.owner.patch(f"/project/git/{desk.project}", {"repository": "", "branch": ""}).ok()
        desk.world.work_off()
        assert desk.held() == []
