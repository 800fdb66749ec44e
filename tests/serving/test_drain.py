"""Start and stop of server processes: no request waits for a start and no request is cut off."""

import contextlib
import errno
import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.support.servers.ports import free_port
from tests.support.servers.service import ROOT, Service

# A module that Python loads at the start. Each process writes a file in its exit handlers.
EXIT_HANDLER = """
import atexit, os, pathlib
FOLDER = pathlib.Path(__file__).parent
atexit.register(lambda: (FOLDER / f"handler-{os.getpid()}").touch())
"""
STOPS = 4
# An application whose import is interrupted. The server then starts another worker.
INTERRUPTED = """
import os, signal, time
os.kill(os.getpid(), signal.SIGINT)
os.kill(os.getpid(), signal.SIGQUIT)
time.sleep(60)
"""
# The drain of a worker whose main greenlet sleeps, as that of gunicorn does.
DRAIN = """
import os, runpy, signal, types, gevent
worker = types.SimpleNamespace(sockets=[], alive=True, handle_exit=lambda *_: None, is_serving=lambda: False,
    is_ending=os.environ.get("ENDING") == "1")
runpy.run_path("gunicorn.conf.py")["_install_drain"](worker)
os.kill(os.getpid(), signal.SIGTERM)
try:
    gevent.sleep(1 if worker.is_ending else 30)
except SystemExit:
    print("ended")
    raise
"""


def connect(service: Service) -> http.client.HTTPConnection:
    connection = http.client.HTTPConnection("127.0.0.1", service.port, timeout=120)
    connection.connect()
    return connection


def get(connection: http.client.HTTPConnection, path: str) -> tuple[int, str | None, object]:
    connection.request("GET", path)
    answer = connection.getresponse()
    return answer.status, answer.getheader("Connection"), json.loads(answer.read())


@dataclass(frozen=True)
class Ended:
    """Observations of a service with one worker after SIGTERM. An idle connection was open until the end."""

    requested: tuple[int, str | None, object]
    """The response on a connection that had served a request before."""
    waited: tuple[int, str | None, object]
    """The response on a connection without an earlier request."""
    refused: bool
    status: int
    handlers: int
    log: str


@pytest.fixture(scope="module")
def ended(tmp_path_factory: pytest.TempPathFactory) -> Ended:
    """Send SIGTERM to a service with four connections, one of them with a part of a request.

    The only worker has answered, so it is initialized: a worker that is still starting exits at once.
    """
    home = tmp_path_factory.mktemp("drain")
    (home / "sitecustomize.py").write_text(EXIT_HANDLER)
    with (
        (home / "log").open("wb") as log,
        Service(home, workers=1, log=log, PYTHONPATH=str(home), LOG_LEVEL="INFO") as service,
        contextlib.closing(connect(service)),
        socket.create_connection(("127.0.0.1", service.port)) as partial,
    ):
        partial.sendall(b"GET /heal")
        with contextlib.closing(connect(service)) as kept, contextlib.closing(connect(service)) as waiting:
            assert get(kept, "/readyz")[0] == 200
            service.process.send_signal(signal.SIGTERM)
            time.sleep(2)
            requested, waited = get(kept, "/readyz"), get(waiting, "/healthz")
        try:
            connect(service).close()
            refused = False
        except ConnectionRefusedError:
            refused = True
        status = service.process.wait(120)
    text = (home / "log").read_text(errors="replace")
    return Ended(requested, waited, refused, status, len(list(home.glob("handler-*"))), text)


class TestStart:
    def test_connection_before_the_first_worker_is_refused(self, tmp_path: Path) -> None:
        port = free_port()
        # This setting stops every worker after gunicorn has started.
        environment = {
            "PATH": os.environ["PATH"],
            "PORT": str(port),
            "APP_NONSENSE": "1",
            "INSTANCE_DIR": str(tmp_path),
            "WEB_CONCURRENCY": "1",
        }
        process = subprocess.Popen(
            [Path(sys.executable).parent / "gunicorn", "wsgi:app"],
            cwd=ROOT, env=environment, stderr=subprocess.DEVNULL, start_new_session=True,
        )  # fmt: skip
        tried = []
        while process.poll() is None:
            with socket.socket() as client:
                tried.append(client.connect_ex(("127.0.0.1", port)))
            time.sleep(0.005)
        assert process.returncode != 0
        assert set(tried) <= {0, errno.ECONNREFUSED}
        # gunicorn listens some milliseconds before it calls `when_ready`, and longer on a busy machine.
        assert tried.count(0) <= 3 < tried.count(errno.ECONNREFUSED)


class TestEnd:
    def test_connected_client_during_the_drain_receives_503_with_connection_close(self, ended: Ended) -> None:
        assert ended.requested == (503, "close", {"status": "ending", "checks": {}})
        assert ended.waited[0] == 200
        assert ended.refused
        assert ended.status == 0

    def test_log_of_the_end_contains_no_traceback(self, ended: Ended) -> None:
        assert "Handling signal: term" in ended.log
        assert "Traceback" not in ended.log

    def test_server_and_worker_with_an_idle_connection_run_their_exit_handlers(self, ended: Ended) -> None:
        assert ended.handlers == 2

    def test_idle_job_worker_runs_its_exit_handlers(self, tmp_path: Path) -> None:
        (tmp_path / "sitecustomize.py").write_text(EXIT_HANDLER)
        service, log = Service(tmp_path), tmp_path / "worker.log"
        environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(tmp_path)} | service.environment
        with log.open("wb") as output:
            worker = subprocess.Popen(
                [Path(sys.executable).parent / "flask", "worker"],
                cwd=ROOT, env=environment | {"LOG_LEVEL": "INFO"}, stdout=output, stderr=output,
            )  # fmt: skip
        try:
            deadline = time.monotonic() + 120
            while "worker.started" not in log.read_text():
                assert time.monotonic() < deadline, log.read_text()
                time.sleep(0.05)
            worker.send_signal(signal.SIGTERM)
            assert worker.wait(30) == 0
        finally:
            worker.kill()
        assert "Traceback" not in log.read_text()
        assert (tmp_path / f"handler-{worker.pid}").exists()

    def test_drain_without_connections_ends_the_main_greenlet(self) -> None:
        ended = subprocess.run([sys.executable, "-c", DRAIN], cwd=ROOT, capture_output=True, text=True, timeout=40)
        assert (ended.returncode, ended.stdout) == (0, "ended\n"), ended.stderr

    def test_drain_does_not_interrupt_a_worker_that_ends_already(self) -> None:
        environment = os.environ | {"ENDING": "1"}
        ended = subprocess.run(
            [sys.executable, "-c", DRAIN], cwd=ROOT, env=environment, capture_output=True, text=True, timeout=40
        )
        assert (ended.returncode, ended.stdout) == (0, ""), ended.stderr

    @pytest.mark.parametrize("is_interrupt", [False, True], ids=["SIGTERM", "Ctrl-C"])
    def test_stops_leave_no_traceback(self, tmp_path: Path, is_interrupt: bool) -> None:
        log = tmp_path / "log"
        with log.open("wb") as output, Service(tmp_path, workers=2, log=output) as service:
            for number in range(STOPS):
                if number:
                    service.start()
                with contextlib.closing(connect(service)) as client:
                    assert get(client, "/healthz")[0] == 200
                time.sleep(number / STOPS)  # The main greenlet of a worker checks once per second whether it must end.
                if is_interrupt:
                    os.killpg(service.process.pid, signal.SIGINT)
                service.process.send_signal(signal.SIGTERM)
                assert service.process.wait(60) == 0
        assert "Traceback" not in log.read_text(errors="replace")

    def test_worker_that_is_interrupted_while_it_starts_exits_without_a_traceback(self, tmp_path: Path) -> None:
        (tmp_path / "interrupted.py").write_text(INTERRUPTED)
        log, variables = tmp_path / "log", {"PYTHONPATH": str(tmp_path), "WEB_CONCURRENCY": "1", "LOG_LEVEL": "INFO"}
        with log.open("wb") as output:
            server = subprocess.Popen(
                [Path(sys.executable).parent / "gunicorn", "interrupted:app"],
                cwd=ROOT, env=os.environ | variables | {"PORT": str(free_port())}, stdout=output, stderr=output,
            )  # fmt: skip
        deadline = time.monotonic() + 120
        while log.read_text().count("Booting worker") < 2 and time.monotonic() < deadline:
            time.sleep(0.05)
        server.terminate()
        assert server.wait(60) == 0
        assert log.read_text().count("Booting worker") >= 2
        assert "Traceback" not in log.read_text()

    def test_start_deletes_the_metrics_of_a_killed_server_and_keeps_those_of_a_running_one(
        self, tmp_path: Path
    ) -> None:
        (tmp_path / "killed").mkdir()
        (tmp_path / "running").mkdir()
        variables = {"TMPDIR": str(tmp_path)}
        with (
            Service(tmp_path / "killed", workers=1, **variables) as service,
            Service(tmp_path / "running", workers=1, **variables),
        ):
            first = set(tmp_path.glob("galley-metrics-*"))
            for lock in tmp_path.glob("galley-metrics-*/lock"):
                os.utime(lock, (0, 0))
            service.kill(signal.SIGKILL)
            service.start()
            assert len(first) == len(set(tmp_path.glob("galley-metrics-*"))) == 2
            assert len(first & set(tmp_path.glob("galley-metrics-*"))) == 1
