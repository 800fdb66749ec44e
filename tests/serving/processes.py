"""Service with its own instance folder and port: server and worker, with the demo.

`running` starts it as `make run` does: separate processes import the application to migrate, to seed the demo, to serve
and to run jobs. `running_prepared` migrates and seeds in this process, which has imported the application already.
"""

import contextlib
import os
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path

from flask import Flask

from config import Settings
from tests.support.applications import application
from tests.support.servers.ports import free_port

ROOT = Path(__file__).resolve().parents[2]
BIN = ROOT / ".venv" / "bin"
GUNICORN, JOB_WORKER = (str(BIN / "gunicorn"), "wsgi:app"), (str(BIN / "flask"), "worker")
START_S = 240
PASSED_ON = ("PATH", "HOME", "LANG", "CI", "VIRTUAL_ENV")


class Service:
    """A running service. `env` is the environment of its commands."""

    def __init__(self, home: Path, **environment: str) -> None:
        self.home, self.port = home, free_port()
        self.base = f"http://127.0.0.1:{self.port}"
        kept = {name: os.environ[name] for name in PASSED_ON if name in os.environ}
        self.env = kept | {
            "PATH": f"{BIN}{os.pathsep}{kept['PATH']}",
            "HOST": "127.0.0.1",
            "PORT": str(self.port),
            "INSTANCE_DIR": str(home / "instance"),
            "MAIL_DRIVER": "file",
            "MAIL_DIR": str(home / "mail"),
            "WEB_CONCURRENCY": "1",
            "RATE_LIMIT_SCALE": "1000",
            "LOG_LEVEL": "DEBUG",
            **environment,
        }
        self.log = (home / "service.log").open("wb")
        self.processes: list[subprocess.Popen[bytes]] = []
        self._at_end = contextlib.ExitStack()

    def start(self, *commands: Sequence[str], root: Path = ROOT) -> None:
        """Start processes, each in its own process group."""
        self.processes = [
            subprocess.Popen(
                command, cwd=root, env=self.env, stdout=self.log, stderr=subprocess.STDOUT, start_new_session=True
            )
            for command in commands
        ]

    @property
    def process(self) -> "subprocess.Popen[bytes]":
        """Return the first process."""
        return self.processes[0]

    @cached_property
    def app(self) -> Flask:
        """Return an application of this process with the settings, the database and the folders of the service."""
        # The log configuration belongs to this process.
        settings = Settings.from_environment(self.env | {"LOG_LEVEL": "INFO"})
        return self._at_end.enter_context(application(settings, migrated=not self.processes))

    def flask(self, *arguments: str) -> str:
        """Run a command of `flask` in this process and return its output."""
        result = self.app.test_cli_runner().invoke(args=arguments, catch_exceptions=False)
        assert result.exit_code == 0, result.output
        return result.output

    def wait(self) -> None:
        """Wait until the service responds."""
        deadline = time.monotonic() + START_S
        while time.monotonic() < deadline and all(process.poll() is None for process in self.processes):
            with (
                contextlib.suppress(OSError),
                urllib.request.urlopen(f"{self.base}/healthz", timeout=10) as answer,
            ):
                if answer.status == 200:
                    return
            time.sleep(0.1)
        raise AssertionError(f"the service does not answer:\n{(self.home / 'service.log').read_text()[-3000:]}")

    def wait_for(self, line: str) -> None:
        """Wait until the log contains a finished job with this text."""
        deadline = time.monotonic() + START_S
        while time.monotonic() < deadline:
            if any("job.finished" in entry and line in entry for entry in self.log_lines()):
                return
            time.sleep(0.1)
        raise AssertionError(f"{line} did not finish:\n" + "\n".join(self.log_lines()[-40:]))

    def log_lines(self) -> list[str]:
        """Return the lines of the log."""
        return (self.home / "service.log").read_text(errors="replace").splitlines()

    def terminate(self) -> None:
        """Send SIGTERM to all processes."""
        for process in self.processes:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGTERM)

    def close(self) -> None:
        """Stop the processes."""
        self.terminate()
        for process in self.processes:
            try:
                process.wait(31)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
        self._at_end.close()
        self.log.close()


@contextlib.contextmanager
def running(home: Path, root: Path = ROOT, **environment: str) -> Iterator[Service]:
    """Run the service of a checkout for the length of the block, as `make run` does."""
    with contextlib.closing(Service(home, **environment)) as service:
        service.start([sys.executable, str(root / "deploy" / "run.py")], root=root)
        service.wait()
        yield service


@contextlib.contextmanager
def running_prepared(
    home: Path, commands: Sequence[Sequence[str]] = (GUNICORN, JOB_WORKER), **environment: str
) -> Iterator[Service]:
    """Run the server and the worker for the length of the block, on a database with the demo."""
    with contextlib.closing(Service(home, **environment)) as service:
        service.flask("seed", "demo")
        service.start(*commands)
        service.wait()
        yield service
