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
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.servers.ports import free_port
from tests.support.servers.service import ROOT, Service

# A module that Python loads at the start. Each process writes a file in its exit handlers and one in its finalization.
FINALIZATION = """
import atexit, os, pathlib
FOLDER = pathlib.Path(__file__).parent

class Held:
    def __init__(self, open_file, folder, process_id):
        self.open_file, self.folder, self.process_id = open_file, folder, process_id

    def __del__(self):
        self.open_file(f"{self.folder}/finalized-{self.process_id()}", "w").close()

held = Held(open, FOLDER, os.getpid)
atexit.register(lambda: (FOLDER / f"handler-{os.getpid()}").touch())
"""
# The drain of a worker whose main greenlet sleeps, as that of gunicorn does.
DRAIN = """
import os, runpy, signal, types, gevent
worker = types.SimpleNamespace(sockets=[], alive=True, handle_exit=lambda *_: None, is_serving=lambda: False)
runpy.run_path("gunicorn.conf.py")["_install_drain"](worker)
os.kill(os.getpid(), signal.SIGTERM)
try:
    gevent.sleep(30)
except SystemExit:
    print("ended")
    raise
"""


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Service]:
    with Service(tmp_path, workers=2) as service:
        yield service


def connect(service: Service) -> http.client.HTTPConnection:
    connection = http.client.HTTPConnection("127.0.0.1", service.port, timeout=120)
    connection.connect()
    return connection


def get(connection: http.client.HTTPConnection, path: str) -> tuple[int, str | None, object]:
    connection.request("GET", path)
    answer = connection.getresponse()
    return answer.status, answer.getheader("Connection"), json.loads(answer.read())


class TestStart:
    def test_connection_before_the_first_worker_is_refused(self, tmp_path: Path) -> None:
        port = free_port()
        # This setting stops every worker after gunicorn has started.
        environment = {
            "PATH": os.environ["PATH"],
            "PORT": str(port),
            "APP_NONSENSE": "1",
            "INSTANCE_DIR": str(tmp_path),
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
    def test_connected_client_during_the_drain_receives_503_with_connection_close(self, service: Service) -> None:
        with contextlib.closing(connect(service)) as kept, contextlib.closing(connect(service)) as waiting:
            assert get(kept, "/readyz")[0] == 200
            service.process.send_signal(signal.SIGTERM)
            time.sleep(2)

            status, connection, told = get(kept, "/readyz")
            assert (status, connection, told) == (503, "close", {"status": "ending", "checks": {}})
            assert get(waiting, "/healthz")[0] == 200
        with pytest.raises(ConnectionRefusedError):
            connect(service)
        assert service.process.wait(120) == 0

    def test_idle_worker_runs_its_exit_handlers_and_skips_the_finalization(self, tmp_path: Path) -> None:
        (tmp_path / "sitecustomize.py").write_text(FINALIZATION)
        with Service(tmp_path, workers=2, PYTHONPATH=str(tmp_path)) as service:
            service.process.send_signal(signal.SIGTERM)
            assert service.process.wait(120) == 0
            master = service.process.pid
        assert len(list(tmp_path.glob("handler-*"))) == 3
        assert [file.name for file in tmp_path.glob("finalized-*")] == [f"finalized-{master}"]

    def test_idle_job_worker_runs_its_exit_handlers_and_skips_the_finalization(self, tmp_path: Path) -> None:
        (tmp_path / "sitecustomize.py").write_text(FINALIZATION)
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
        assert (tmp_path / f"handler-{worker.pid}").exists()
        assert not (tmp_path / f"finalized-{worker.pid}").exists()

    def test_drain_without_connections_ends_the_main_greenlet(self) -> None:
        ended = subprocess.run([sys.executable, "-c", DRAIN], cwd=ROOT, capture_output=True, text=True, timeout=40)
        assert (ended.returncode, ended.stdout) == (0, "ended\n"), ended.stderr

    def test_idle_connection_does_not_delay_the_end(self, service: Service) -> None:
        with contextlib.closing(connect(service)):
            service.process.send_signal(signal.SIGTERM)
            assert service.process.wait(120) == 0
