"""Service as it runs in production: gunicorn with gevent workers in a process group, over an instance folder."""

import contextlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import TracebackType
from typing import IO

import psutil
import requests

from app.extensions import db
from app.factory import create_app
from config import Settings
from tests.support.applications import release_statements
from tests.support.databases import migrated_copies
from tests.support.servers.ports import free_port
from tests.support.world import Person, World

ROOT = Path(__file__).parents[3]


class Service:
    """A service that runs for the length of a `with`. It can be killed and restarted."""

    def __init__(self, home: Path, *, workers: int = 2, log: IO[bytes] | None = None, **environment: str) -> None:
        self.home, self.port, self._log = home, free_port(), log
        self.environment = {
            "APP_ENV": "test",
            "INSTANCE_DIR": str(home / "instance"),
            "MAIL_DRIVER": "file",
            "RATE_LIMIT_SCALE": "100000",
            "PORT": str(self.port),
            "WEB_CONCURRENCY": str(workers),
            "LOG_LEVEL": "WARNING",
        } | environment
        # The log configuration belongs to the process. Later tests need their log lines.
        self.app = create_app(Settings.from_environment(self.environment | {"LOG_LEVEL": "INFO"}))
        migrated_copies.migrate(self.app)
        self.world = World(self.app)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def client(self, person: Person) -> requests.Session:
        """Return an HTTP client of a user, without proxies."""
        session = requests.Session()
        session.trust_env = False
        session.cookies.set("session_token", person.token)
        return session

    def __enter__(self) -> "Service":
        self.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.kill(signal.SIGKILL)
        with self.app.app_context():
            db.session.remove()
            db.engine.dispose()
        release_statements()

    def start(self) -> None:
        """Start the service and wait until it responds."""
        self.process = subprocess.Popen(
            [Path(sys.executable).parent / "gunicorn", "wsgi:app"],
            cwd=ROOT,
            env={"PATH": os.environ["PATH"], "HOME": os.environ.get("HOME", "/")} | self.environment,
            start_new_session=True,
            stdout=self._log,
            stderr=self._log,
        )
        deadline = time.monotonic() + 120
        while not self._answers():
            assert self.process.poll() is None, "gunicorn ended"
            assert time.monotonic() < deadline, "gunicorn does not answer"
            time.sleep(0.1)

    def kill(self, number: signal.Signals = signal.SIGKILL) -> None:
        """Send a signal to the process group and wait for its end."""
        if self.process.poll() is None:
            os.killpg(self.process.pid, number)
        self.process.wait(40)

    def memory_kib(self) -> int:
        """Return the resident memory of the gunicorn master and its workers."""
        workers = _children(self.process.pid)
        return sum(_resident_kib(pid) for pid in [self.process.pid, *workers])

    def tree_mib(self) -> int:
        """Return the memory of the service with all processes below it. A shared page counts once."""
        kib = 0
        for process in [psutil.Process(self.process.pid), *psutil.Process(self.process.pid).children(recursive=True)]:
            with contextlib.suppress(psutil.NoSuchProcess):
                kib += process.memory_full_info().pss // 1024
        return kib // 1024

    def _answers(self) -> bool:
        try:
            return requests.get(f"{self.url}/healthz", timeout=10).ok
        except requests.RequestException:
            return False


def _children(pid: int) -> list[int]:
    listed = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return [int(child) for child in listed]


def _resident_kib(pid: int) -> int:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1])
    return 0
