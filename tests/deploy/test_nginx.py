"""Tests of the nginx configuration with failing nodes: repeated requests, headers, limits and streams."""

import contextlib
import re
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from string import Template

import cluster_nginx
import pytest
import requests

from app.core.limits import InputLimits
from tests.deploy.test_manifests import environment_of
from tests.serving.processes import ROOT
from tests.support.doubles.certificates import self_signed
from tests.support.programs import required_program
from tests.support.servers.ports import free_port

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok"
Talk = Callable[[socket.socket, bytes], None]


class Node:
    """A node that handles each connection with `talk` and stores the heads of received requests."""

    def __init__(self) -> None:
        self.heads: list[bytes] = []
        self.talk: Talk = answer
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._listener.getsockname()[1])
        threading.Thread(target=self._serve, daemon=True).start()

    def close(self) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def _serve(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, _ = self._listener.accept()
                threading.Thread(target=self._receive, args=(connection,), daemon=True).start()

    def _receive(self, connection: socket.socket) -> None:
        with connection, contextlib.suppress(OSError):
            head = b""
            while b"\r\n\r\n" not in head and (piece := connection.recv(65536)):
                head += piece
            head, _, body = head.partition(b"\r\n\r\n")
            match = re.search(rb"content-length: (\d+)", head.lower())
            missing = int(match[1]) - len(body) if match else 0
            while missing > 0 and (piece := connection.recv(65536)):
                missing -= len(piece)
            if head:
                self.heads.append(head + b"\r\n")
                self.talk(connection, head)


def answer(connection: socket.socket, _head: bytes) -> None:
    connection.sendall(OK)


def end_connection(_connection: socket.socket, _head: bytes) -> None:
    """Return without a response, so that the connection is closed as by a killed node."""


class NginxFront:
    """An nginx process in front of two nodes."""

    def __init__(self, home: Path) -> None:
        self.nodes = [Node(), Node()]
        self.port = free_port()
        (home / "logs").mkdir()
        environment = {"CLUSTER_PORT": str(self.port), "PREVIEW_HOST": "preview.localhost"}
        cluster_nginx.write(home, environment, [node.port for node in self.nodes])
        self.log = (home / "nginx.log").open("wb")
        self.process = subprocess.Popen(
            [required_program("nginx", package="nginx-light"), *cluster_nginx.command(home)[1:]],
            stdout=self.log,
            stderr=self.log,
        )
        deadline = time.monotonic() + 120
        while True:
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self.port), timeout=2):
                return
            assert self.process.poll() is None, (home / "nginx.log").read_text()
            assert time.monotonic() < deadline
            time.sleep(0.05)

    def send(self, method: str, path: str = "/", **more: object) -> requests.Response:
        return requests.request(method, f"http://127.0.0.1:{self.port}{path}", timeout=120, **more)  # type: ignore[arg-type]

    def request_count(self) -> int:
        return sum(len(node.heads) for node in self.nodes)

    def stop(self) -> None:
        self.process.terminate()
        self.process.wait(60)
        self.log.close()
        for node in self.nodes:
            with contextlib.suppress(OSError):
                node.close()


@pytest.fixture
def front(tmp_path: Path) -> Iterator[NginxFront]:
    required_program("nginx", package="nginx-light")
    front = NginxFront(tmp_path)
    yield front
    front.stop()


def variables_of_guide(page: str) -> dict[str, str]:
    """Return the variables of the nginx template that a page exports."""
    text = (ROOT / "docs" / page).read_text()
    return {name: quoted or bare for name, quoted, bare in re.findall(r"\b(GALLEY_[A-Z]+)=(?:'([^']*)'|(\S+))", text)}


class TestConfiguration:
    @pytest.mark.parametrize("source", ["compose.yaml", "deployment.md", "guides/several-machines.md"])
    def test_nginx_accepts_the_template_with_the_shipped_variables(self, source: str, tmp_path: Path) -> None:
        program = required_program("nginx", package="nginx-light")
        variables = variables_of_guide("deployment.md") | {"PREVIEW_HOST": "previews.example.net"}
        variables |= environment_of("nginx") if source == "compose.yaml" else variables_of_guide(source)
        variables["GALLEY_SERVERS"] = variables["GALLEY_SERVERS"].replace("server web:", "server 127.0.0.1:")
        # A test without root cannot bind the shipped ports and cannot write the shipped log.
        variables["GALLEY_LISTEN"] = re.sub(r"^\d+", f"127.0.0.1:{free_port()}", variables["GALLEY_LISTEN"])
        variables["GALLEY_ACCESS_LOG"] = str(tmp_path / "access.log")
        variables["PREVIEW_HOST"] = variables["PREVIEW_HOST"].removeprefix("${PREVIEW_HOST:-").removesuffix("}")
        cluster_nginx.write(tmp_path, {"CLUSTER_PORT": "1", "PREVIEW_HOST": "unused"}, [])
        text = Template(cluster_nginx.TEMPLATE.read_text()).safe_substitute(variables)
        if "ssl" in variables["GALLEY_LISTEN"]:
            certificate = self_signed(tmp_path / "server.pem")
            lines = f"    ssl_certificate {certificate}; ssl_certificate_key {certificate};\n"
            text = re.sub(r"^server \{\n", rf"\g<0>{lines}", text, flags=re.MULTILINE)
        (tmp_path / "nginx" / "galley.conf").write_text(text)
        command = [program, "-t", *cluster_nginx.command(tmp_path)[1:]]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        assert "[warn]" not in done.stderr


class TestNodeFailure:
    @pytest.mark.parametrize("method", ["POST", "PATCH"])
    def test_write_is_not_repeated_on_another_node(self, front: NginxFront, method: str) -> None:
        for node in front.nodes:
            node.talk = end_connection
        answer = front.send(method, json={})
        assert front.request_count() == 1
        assert (answer.status_code, answer.json()["code"]) == (502, "NODE_LOST")
        assert answer.headers["Retry-After"] == "2"

    def test_read_is_repeated_on_the_next_node(self, front: NginxFront) -> None:
        front.nodes[0].talk = end_connection
        answers = [front.send("GET").status_code for _ in range(4)]
        assert answers == [200] * 4

    @pytest.mark.parametrize("method", ["GET", "POST", "PATCH", "DELETE"])
    def test_request_without_connection_is_sent_to_the_next_node(self, front: NginxFront, method: str) -> None:
        front.nodes[0].close()
        answers = [front.send(method, data=b"x").status_code for _ in range(6)]
        assert answers == [200] * 6
        assert len(front.nodes[1].heads) == 6


class TestForwarding:
    def test_client_address_is_the_last_forwarded_entry(self, front: NginxFront) -> None:
        forged = {"X-Forwarded-For": "203.0.113.9", "X-Forwarded-Host": "evil.example", "Forwarded": "for=1.2.3.4"}
        front.send("GET", headers={**forged, "Host": "galley.example"})
        head = next(node.heads[0] for node in front.nodes if node.heads).decode().lower()
        assert "x-forwarded-for: 203.0.113.9, 127.0.0.1\r\n" in head
        assert "host: galley.example\r\n" in head
        assert "evil.example" not in head
        assert "1.2.3.4" not in head

    def test_body_size_limit_equals_the_limit_of_the_service(self, front: NginxFront) -> None:
        most = InputLimits.commit_bytes
        assert front.send("POST", data=b"x" * most).status_code == 200
        refused = front.send("POST", data=b"x" * (most + 1))
        assert (refused.status_code, refused.json()["code"]) == (413, "TOO_LARGE")

    def test_body_of_a_git_client_is_not_limited(self, front: NginxFront) -> None:
        body = b"x" * (InputLimits.commit_bytes + 1)
        assert front.send("POST", "/git/acme/site.git/git-receive-pack", data=body).status_code == 200

    @pytest.mark.parametrize("host", ["galley.example", "0123.preview.localhost"])
    def test_stream_is_not_buffered(self, front: NginxFront, host: str) -> None:
        heard = threading.Event()

        def stream(connection: socket.socket, _head: bytes) -> None:
            kind = b"Content-Type: text/event-stream\r\nX-Accel-Buffering: no\r\nConnection: close\r\n"
            connection.sendall(b"HTTP/1.1 200 OK\r\n" + kind + b"\r\ndata: 1\n\n")
            if heard.wait(60):
                connection.sendall(b"data: 2\n\n")

        for node in front.nodes:
            node.talk = stream
        with front.send("GET", headers={"Host": host}, stream=True) as answer:
            pieces = answer.iter_content(None)
            assert next(pieces) == b"data: 1\n\n"
            heard.set()
            assert next(pieces) == b"data: 2\n\n"

    def test_preview_websocket_sends_bytes_in_both_directions(self, front: NginxFront) -> None:
        def echo(connection: socket.socket, head: bytes) -> None:
            assert b"upgrade: websocket" in head.lower()
            connection.sendall(b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
            connection.sendall(connection.recv(100))

        for node in front.nodes:
            node.talk = echo
        with socket.create_connection(("127.0.0.1", front.port), timeout=120) as client:
            words = "GET / HTTP/1.1\r\nHost: 01.preview.localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n"
            client.sendall(words.encode())
            assert client.recv(12) == b"HTTP/1.1 101"
            while b"\r\n\r\n" not in client.recv(4096, socket.MSG_PEEK):
                time.sleep(0.01)
            client.recv(4096)
            client.sendall(b"ping")
            assert client.recv(4) == b"ping"
