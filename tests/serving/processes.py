"""The whole service as `make run` starts it: server and worker, an instance folder and a port of their own."""

import contextlib
import os
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

from tests.servers.ports import free_port

ROOT = Path(__file__).resolve().parents[2]
PASSED_ON = ("PATH", "HOME", "LANG", "CI", "VIRTUAL_ENV")


class Service:
    """A running service; `env` is what its commands need to find its instance."""

    def __init__(self, home: Path, **environment: str) -> None:
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
            **environment,
        }
        self.log = (home / "service.log").open("wb")
        command = [sys.executable, str(ROOT / "deploy" / "run.py")]
        self.process = subprocess.Popen(
            command, cwd=ROOT, env=self.env, stdout=self.log, stderr=subprocess.STDOUT, start_new_session=True
        )

    def wait(self, within_s: float = 90) -> None:
        """Wait until it answers."""
        deadline = time.monotonic() + within_s
        while time.monotonic() < deadline and self.process.poll() is None:
            with (
                contextlib.suppress(OSError),
                urllib.request.urlopen(f"{self.base}/healthz", timeout=2) as answer,
            ):
                if answer.status == 200:
                    return
            time.sleep(0.1)
        raise AssertionError(f"the service does not answer:\n{(self.home / 'service.log').read_text()[-3000:]}")

    def wait_for(self, line: str, within_s: float = 60) -> None:
        """Wait until the log tells that a job with this in its line has finished."""
        deadline = time.monotonic() + within_s
        while time.monotonic() < deadline:
            if any("job_finished" in told and line in told for told in self.told()):
                return
            time.sleep(0.1)
        raise AssertionError(f"{line} did not finish:\n" + "\n".join(self.told()[-40:]))

    def told(self) -> list[str]:
        """The lines of the log so far."""
        return (self.home / "service.log").read_text(errors="replace").splitlines()

    def stop(self) -> None:
        """End it, group and all."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGTERM)
        try:
            self.process.wait(31)
        except subprocess.TimeoutExpired:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
        self.log.close()


@contextlib.contextmanager
def running(home: Path, **environment: str) -> Iterator[Service]:
    """A service for the code inside."""
    service = Service(home, **environment)
    try:
        service.wait()
        yield service
    finally:
        service.stop()
