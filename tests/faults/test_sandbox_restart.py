"""The machine, the worker or a supervisor dies; within a minute no jail, folder or row of a sandbox is left over."""

import json
import os
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.drivers.sandbox.machine import is_alive, jails_of
from tests.serving.processes import Service, running
from tests.serving.visitor import Visitor

PROMISED_S = 60


class Owner(Visitor):
    """The demo's owner, signed in."""

    def __init__(self, service: Service) -> None:
        super().__init__()
        self.service = service
        password = (service.home / "instance" / "demo_password").read_text().strip()
        self.call("/api/v1/auth/sign-in/email", {"email": "owner@demo.example.org", "password": password})
        me = self.call("/api/v1/auth/get-session")["user"]["id"]
        self.project = self.call(f"/api/v1/project/user/{me}")[0]["project_id"]

    def call(self, path: str, body: Any = None) -> Any:
        method = "POST" if body is not None else "GET"
        got = self.send(method, self.service.base + path, body, {"Accept": "application/json"}, timeout_s=120)
        assert got.status in (200, 201), got.text
        return json.loads(got.body)["result"]

    def create(self) -> str:
        return str(self.call("/api/sandbox/create", {"projectId": self.project})["sandboxName"])

    def state(self) -> str:
        return str(self.call(f"/api/v1/project-preview/{self.project}")["state"])


def within(promised_s: float, condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + promised_s
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.2)


def root_of(home: Path) -> Path:
    return home / "instance" / "sandboxes"


class TestRestart:
    def test_a_killed_supervisor_leaves_nothing(self, tmp_path: Path) -> None:
        with running(tmp_path) as service:
            owner = Owner(service)
            name = owner.create()
            supervisor, *jail = jails_of(root_of(tmp_path), name)
            os.kill(supervisor, signal.SIGKILL)
            within(5, lambda: not any(map(is_alive, jail)))
            within(PROMISED_S, lambda: owner.state() == "stopped")
            within(PROMISED_S, lambda: not (root_of(tmp_path) / name).exists())

    def test_a_machine_that_starts_again_finds_and_ends_what_was_left(self, tmp_path: Path) -> None:
        with running(tmp_path) as service:
            name = Owner(service).create()
            os.killpg(service.process.pid, signal.SIGKILL)
            for pid in jails_of(root_of(tmp_path), name):
                os.kill(pid, signal.SIGKILL)
        with running(tmp_path) as service:
            owner = Owner(service)
            within(PROMISED_S, lambda: owner.state() == "stopped")
            within(PROMISED_S, lambda: not (root_of(tmp_path) / name).exists())

    def test_a_killed_service_s_preview_goes_on_when_it_is_back(self, tmp_path: Path) -> None:
        with running(tmp_path) as service:
            name = Owner(service).create()
            os.killpg(service.process.pid, signal.SIGKILL)
        with running(tmp_path) as service:
            owner = Owner(service)
            assert owner.create() == name
            owner.call("/api/sandbox/stop", {"projectId": owner.project})
            assert not (root_of(tmp_path) / name).exists()
