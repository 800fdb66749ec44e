"""get-session from the database: CPU per request, compared with the server of better-auth and a bare gevent route.

The measurements are interleaved in one run, each server on one core and the load on another. Only the CPU of the server
processes counts. better-auth (on Hono and PostgreSQL) needs node and npm and is skipped without them.
"""

import http.client
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median

import psutil
import pytest

from tests.conftest import postgresql_database
from tests.support.servers.service import Service

HERE = Path(__file__).parent
CACHE = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "galley-tests"
REQUESTS, ROUNDS, WARM_UP = 1_000, 7, 500
PASSWORD = "Quiet-Harbour-1"


class Candidate:
    """A running server that receives the same request repeatedly, on one connection per round."""

    def __init__(self, pid: int, port: int, path: str, cookie: str = "") -> None:
        self.server, self.path, self.cookie = psutil.Process(pid), path, cookie
        self.port = port
        self.rounds_ms: list[float] = []
        for process in self._processes():
            process.cpu_affinity([0])

    def ask(self, times: int) -> None:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=10)
        for _ in range(times):
            connection.request("GET", self.path, headers={"Cookie": self.cookie})
            answer = connection.getresponse()
            body = answer.read()
            assert answer.status == 200, body
        connection.close()

    def measure(self) -> None:
        before_s = self._cpu_s()
        self.ask(REQUESTS)
        self.rounds_ms.append((self._cpu_s() - before_s) / REQUESTS * 1_000)

    @property
    def cost_ms(self) -> float:
        """Return the CPU time per request, the median of the rounds."""
        return median(self.rounds_ms)

    def _cpu_s(self) -> float:
        return sum(sum(process.cpu_times()[:2]) for process in self._processes())

    def _processes(self) -> list[psutil.Process]:
        return [self.server, *self.server.children(recursive=True)]


class TestGetSession:
    def test_get_session_cpu_per_request_is_printed(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        mine = os.sched_getaffinity(0)
        try:
            with postgresql_database() as ours, postgresql_database() as theirs:
                lines = self._compare(tmp_path, ours, theirs)
        finally:
            os.sched_setaffinity(0, mine)
        with capsys.disabled():
            print("\n" + "\n".join(lines))

    def _compare(self, tmp_path: Path, ours: str, theirs: str) -> list[str]:
        with Service(tmp_path, workers=1, DATABASE_URL=ours) as service, _bare() as bare, _peer(theirs) as peer:
            person = service.world.person()
            galley = Candidate(
                service.process.pid, service.port, "/api/v1/auth/get-session", f"session_token={person.token}"
            )
            os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
            known = [one for one in (galley, bare, peer) if one is not None]
            for one in known:
                one.ask(WARM_UP)
            for _ in range(ROUNDS):
                for one in known:
                    one.measure()
        lines = [
            f"get-session from PostgreSQL: {galley.cost_ms:.3f} ms of CPU a request",
            f"bare gevent route: {bare.cost_ms:.3f} ms; ratio {galley.cost_ms / bare.cost_ms:.2f} (goal ≤ 4)",
        ]
        if peer is not None:
            ratio = galley.cost_ms / peer.cost_ms
            lines.append(f"better-auth on Hono and PostgreSQL: {peer.cost_ms:.3f} ms; ratio {ratio:.2f} (goal ≤ 0.40)")
        return lines


@contextmanager
def _bare() -> Iterator[Candidate]:
    with _started(
        [Path(sys.executable).parent / "gunicorn", "-k", "gevent", "-b", "127.0.0.1:0", "bare:app"]
    ) as process:
        yield Candidate(process.pid, _listening_port(process.pid), "/")


@contextmanager
def _peer(database: str) -> Iterator[Candidate | None]:
    """Start better-auth with one signed-in account. Return None if it cannot be installed."""
    folder = _installed()
    if folder is None:
        yield None
        return
    shutil.copy(HERE / "better-auth" / "server.mjs", folder)
    url = database.replace("postgresql+psycopg", "postgresql")
    with _started(["node", "server.mjs", url], cwd=folder) as process:
        port = _listening_port(process.pid)
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
        body = json.dumps({"email": "a@mail.example.org", "password": PASSWORD, "name": "A"})
        headers = {"Content-Type": "application/json", "Origin": "http://127.0.0.1"}
        connection.request("POST", "/api/auth/sign-up/email", body, headers)
        answer = connection.getresponse()
        assert answer.status == 200, answer.read()
        cookie = (answer.getheader("Set-Cookie") or "").partition(";")[0]
        connection.close()
        yield Candidate(process.pid, port, "/api/auth/get-session", cookie)


def _installed() -> Path | None:
    if shutil.which("npm") is None:
        return None
    folder = CACHE / "bench-better-auth"
    if not (folder / "installed").exists():
        shutil.copytree(HERE / "better-auth", folder, dirs_exist_ok=True)
        options = ["--ignore-scripts", "--no-audit", "--no-fund"]
        if subprocess.run(["npm", "ci", *options], cwd=folder, capture_output=True, timeout=300).returncode:
            return None
        (folder / "installed").touch()
    return folder


@contextmanager
def _started(command: list[str | Path], cwd: Path = HERE) -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen(command, cwd=cwd, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        yield process
    finally:
        process.terminate()
        process.wait(40)


def _listening_port(pid: int) -> int:
    """Return the port of a process or one of its children as soon as it listens."""
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        server = psutil.Process(pid)
        for process in [server, *server.children(recursive=True)]:
            for connection in process.net_connections("tcp"):
                if connection.status == psutil.CONN_LISTEN:
                    time.sleep(1)  # gunicorn listens before its worker has started.
                    return int(connection.laddr.port)
        time.sleep(0.1)
    raise TimeoutError("the server does not listen")
