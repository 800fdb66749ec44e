"""Tests of a restarted machine, worker or supervisor. Within a minute, no jail, folder or row of a sandbox remains."""

import os
import signal
import time
from collections.abc import Callable
from pathlib import Path

from tests.drivers.sandbox.machine import is_alive, jails_of
from tests.serving.member import Member, root_of
from tests.serving.processes import running

PROMISED_S = 60


def within(promised_s: float, condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + promised_s
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.2)


class TestRestart:
    def test_killed_supervisor_leaves_no_process_folder_or_running_record(self, tmp_path: Path) -> None:
        with running(tmp_path) as service:
            owner = Member(service)
            name = owner.create()["sandboxName"]
            supervisor, *jail = jails_of(root_of(service), name)
            os.kill(supervisor, signal.SIGKILL)
            within(5, lambda: not any(map(is_alive, jail)))
            within(PROMISED_S, lambda: owner.record()["state"] == "stopped")
            within(PROMISED_S, lambda: not (root_of(service) / name).exists())

    def test_restarted_machine_removes_remaining_sandboxes(self, tmp_path: Path) -> None:
        with running(tmp_path) as service:
            name = Member(service).create()["sandboxName"]
            os.killpg(service.process.pid, signal.SIGKILL)
            for pid in jails_of(root_of(service), name):
                os.kill(pid, signal.SIGKILL)
        with running(tmp_path) as service:
            owner = Member(service)
            within(PROMISED_S, lambda: owner.record()["state"] == "stopped")
            within(PROMISED_S, lambda: not (root_of(service) / name).exists())

    def test_preview_of_a_killed_service_continues_after_its_restart(self, tmp_path: Path) -> None:
        with running(tmp_path) as service:
            name = Member(service).create()["sandboxName"]
            os.killpg(service.process.pid, signal.SIGKILL)
        with running(tmp_path) as service:
            owner = Member(service)
            assert owner.create()["sandboxName"] == name
            owner.stop()
            assert not (root_of(service) / name).exists()
