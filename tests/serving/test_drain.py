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


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Service]:
    with Service(tmp_path, workers=2) as service:
        yield service


def connect(service: Service) -> http.client.HTTPConnection:
    connection = http.client.HTTPConnection("127.0.0.1", service.port, timeout=20)
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
        assert set(tried) == {errno.ECONNREFUSED}


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
        assert service.process.wait(30) == 0

    def test_idle_connection_does_not_delay_the_end(self, service: Service) -> None:
        with contextlib.closing(connect(service)):
            service.process.send_signal(signal.SIGTERM)
            assert service.process.wait(30) == 0
