"""The way out of a jail: listed hosts through CONNECT or plain HTTP, nobody else, and nobody at all once it is closed."""

import socket
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from app.drivers.sandbox.supervising.egress import Egress


class Way:
    """An egress on a Unix socket, before an echo server on the loopback."""

    def __init__(self, place: Path) -> None:
        self.place = str(place / "s")
        self.echo = socket.create_server(("127.0.0.1", 0))
        self.port = self.echo.getsockname()[1]
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(self.place)
        listener.listen()
        self.egress = Egress(listener, [f"127.0.0.1:{self.port}", "Registry.Example.org"])
        threading.Thread(target=self._echo, daemon=True).start()
        self.egress.start()

    def _echo(self) -> None:
        while True:
            try:
                connection, _ = self.echo.accept()
            except OSError:
                return
            with connection:
                while piece := connection.recv(1000):
                    connection.sendall(piece)

    def open(self, head: str) -> socket.socket:
        connection = socket.socket(socket.AF_UNIX)
        connection.settimeout(5)
        connection.connect(self.place)
        connection.sendall(f"{head}\r\n\r\n".encode())
        return connection

    def status(self, head: str) -> bytes:
        with closing(self.open(head)) as connection:
            return connection.recv(1000).split(b" ")[1]


@pytest.fixture
def way(tmp_path: Path) -> Iterator[Way]:
    way = Way(tmp_path)
    yield way
    way.egress.close()
    way.echo.shutdown(socket.SHUT_RDWR)
    way.echo.close()


class TestEgress:
    def test_a_listed_host_is_connected(self, way: Way) -> None:
        with closing(way.open(f"CONNECT 127.0.0.1:{way.port} HTTP/1.1")) as connection:
            assert connection.recv(1000).startswith(b"HTTP/1.1 200")
            connection.sendall(b"echoed")
            assert connection.recv(100) == b"echoed"

    @pytest.mark.parametrize(
        "head",
        [
            "CONNECT 127.0.0.1:5432 HTTP/1.1",
            "CONNECT 169.254.169.254:443 HTTP/1.1",
            "CONNECT registry.example.org:22 HTTP/1.1",
            "CONNECT evil.registry.example.org:443 HTTP/1.1",
            "CONNECT registry.example.org.evil.example:443 HTTP/1.1",
            "CONNECT localhost:443 HTTP/1.1",
            "GET http://127.0.0.1:5432/ HTTP/1.1",
            "GET http://registry.example.org/ HTTP/1.1",
        ],
    )
    def test_anything_else_is_refused(self, way: Way, head: str) -> None:
        assert way.status(head) == b"403"

    def test_plain_http_is_passed_with_a_path_and_without_the_proxy_s_headers(self, way: Way) -> None:
        head = f"GET http://127.0.0.1:{way.port}/a?b HTTP/1.1\r\nHost: h\r\nProxy-Authorization: x\r\nConnection: keep-alive"
        with closing(way.open(head)) as connection:
            passed = connection.recv(1000)
        assert passed == b"GET /a?b HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n"

    @pytest.mark.parametrize(
        "rubbish", ["", "x", "CONNECT", "CONNECT a:b c", "GET http://[ HTTP/1.1", "CONNECT :443 HTTP/1.1"]
    )
    def test_rubbish_gets_nowhere_and_breaks_nothing(self, way: Way, rubbish: str) -> None:
        with closing(way.open(rubbish)) as connection:
            assert not connection.recv(1000).startswith(b"HTTP/1.1 200")
        self.test_a_listed_host_is_connected(way)

    def test_closing_cuts_what_is_open_and_lets_nobody_in(self, way: Way) -> None:
        connection = way.open(f"CONNECT 127.0.0.1:{way.port} HTTP/1.1")
        assert connection.recv(1000).startswith(b"HTTP/1.1 200")
        way.egress.close()
        assert connection.recv(1) == b""
        connection.close()
        with socket.socket(socket.AF_UNIX) as late, pytest.raises(OSError):
            late.connect(way.place)
