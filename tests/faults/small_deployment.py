"""A small deployment of the service: web server and worker over one instance folder, and their log."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO

from tests.support.servers.service import ROOT, Service
from tests.support.world import World


class SmallDeployment:
    """A deployment that runs inside a `with` block. Subclasses define its environment and its secrets."""

    def __init__(self, home: Path) -> None:
        self.home, self._stack = home, ExitStack()

    def __enter__(self) -> "SmallDeployment":
        with ExitStack() as stack:
            self.home.mkdir(parents=True, exist_ok=True)
            self.log = stack.enter_context((self.home / "service.log").open("ab"))
            environment = self.environment(stack)
            self.service = Service(self.home, workers=1, log=self.log, **environment)
            stack.enter_context(self.service)
            self.worker = stack.enter_context(running_worker(self.service, self.log))
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *error: object) -> None:
        self._stack.__exit__(None, None, None)

    @property
    def world(self) -> World:
        """Return the database, which is reached without a fault proxy."""
        return self.service.world

    def environment(self, _stack: ExitStack) -> dict[str, str]:
        """Return the variables of the service. Dependencies are started on the stack."""
        return {"LOG_LEVEL": "DEBUG"}

    def log_text(self) -> str:
        """Return the log of web server and worker."""
        self.log.flush()
        return (self.home / "service.log").read_text(errors="replace")

    def secrets(self) -> list[str]:
        """Return the values that no log may contain."""
        return []


@contextmanager
def running_worker(service: Service, log: IO[bytes]) -> Iterator["subprocess.Popen[bytes]"]:
    """Run a job worker."""
    environment = {"PATH": os.environ["PATH"], "HOME": os.environ.get("HOME", "/"), "FLASK_APP": "wsgi"}
    process = subprocess.Popen(
        [Path(sys.executable).parent / "flask", "worker"],
        cwd=ROOT, env=environment | service.environment, stdout=log, stderr=log,
    )  # fmt: skip
    try:
        yield process
    finally:
        process.kill()
        process.wait(10)


def flask(service: Service, *command: str, **environment: str) -> "subprocess.CompletedProcess[str]":
    """Run a command of the service to its end."""
    kept = {"PATH": os.environ["PATH"], "HOME": os.environ.get("HOME", "/"), "FLASK_APP": "wsgi"}
    return subprocess.run(
        [Path(sys.executable).parent / "flask", *command],
        cwd=ROOT, env=kept | service.environment | environment, capture_output=True, text=True, timeout=120,
    )  # fmt: skip
