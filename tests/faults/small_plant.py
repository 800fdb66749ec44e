"""The service as a small plant: web server and worker over one instance folder, and what they have logged."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO

from tests.servers.service import ROOT, Service
from tests.world import World


class SmallPlant:
    """Runs for the length of a `with`; subclasses say its environment, and what must never be logged."""

    def __init__(self, home: Path) -> None:
        self.home, self._stack = home, ExitStack()

    def __enter__(self) -> "SmallPlant":
        with ExitStack() as stack:
            self.home.mkdir(parents=True, exist_ok=True)
            self.log = stack.enter_context((self.home / "service.log").open("ab"))
            environment = self.environment(stack)
            self.service = Service(self.home, workers=1, log=self.log, **environment)
            stack.enter_context(self.service)
            self.worker = stack.enter_context(working(self.service, self.log))
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *error: object) -> None:
        self._stack.__exit__(None, None, None)

    @property
    def world(self) -> World:
        """The database, past anything that fails."""
        return self.service.world

    def environment(self, _stack: ExitStack) -> dict[str, str]:
        """The variables of the service; what it depends on is started on the stack."""
        return {"LOG_LEVEL": "INFO"}

    def told(self) -> str:
        """All that web server and worker have logged."""
        self.log.flush()
        return (self.home / "service.log").read_text(errors="replace")

    def secrets(self) -> list[str]:
        """What must never be logged."""
        return []


@contextmanager
def working(service: Service, log: IO[bytes]) -> Iterator["subprocess.Popen[bytes]"]:
    """The job worker."""
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
    """Run one of the service's commands to its end."""
    kept = {"PATH": os.environ["PATH"], "HOME": os.environ.get("HOME", "/"), "FLASK_APP": "wsgi"}
    return subprocess.run(
        [Path(sys.executable).parent / "flask", *command],
        cwd=ROOT, env=kept | service.environment | environment, capture_output=True, text=True, timeout=120,
    )  # fmt: skip
