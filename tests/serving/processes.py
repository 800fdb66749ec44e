"""Service as `make run` starts it: server and worker with their own instance folder and port."""

import contextlib
import os
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

from tests.support.servers.ports import free_port

ROOT = Path(__file__).resolve().parents[2]
START_S = 240
PASSED_ON = ("PATH", "HOME", "LANG", "CI", "VIRTUAL_ENV")


class Service:
    """A running service. `env` is the environment of its commands."""

    def __init__(self, home: Path, root: Path = ROOT, **environment: str) -> None:
        self.home, self.port = home, free_port()
        self.base = f"http://127.0.0.1:{self.port}"
        kept = {name: os.environ[name] for name in PASSED_ON if name in os.environ}
        self.env = kept | {
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
        command = [sys.executable, str(root / "deploy" / "run.py")]
        self.process = subprocess.Popen(
            command, cwd=root, env=self.env, stdout=self.log, stderr=subprocess.STDOUT, start_new_session=True
        )

    def wait(self) -> None:
        """Wait until the service responds."""
        deadline = time.monotonic() + START_S
        while time.monotonic() < deadline and self.process.poll() is None:
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

    def stop(self) -> None:
        """Stop the process group."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGTERM)
        try:
            self.process.wait(31)
        except subprocess.TimeoutExpired:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
        self.log.close()


@contextlib.contextmanager
def running(home: Path, root: Path = ROOT, **environment: str) -> Iterator[Service]:
    """Run the service of a checkout for the length of the block."""
    service = Service(home, root, **environment)
    try:
        service.wait()
        yield service
    finally:
        service.stop()
