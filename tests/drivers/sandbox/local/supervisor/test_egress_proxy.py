"""Tests of the egress proxy of a jail: allowed hosts, refused hosts and the closed proxy."""

import socket
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from app.drivers.sandbox.local.supervisor import egress_proxy
from app.drivers.sandbox.local.supervisor.egress_proxy import Egress


class EgressWithEchoServer:
    """An egress proxy on a Unix socket and an echo server on loopback."""

    def __init__(self, path: Path) -> None:
        self.path = str(path / "s")
        self.echo = socket.create_server(("127.0.0.1", 0))
        self.port = self.echo.getsockname()[1]
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(self.path)
        listener.listen()
        self.refused, self.unreachable = list[str](), list[str]()
        allowed = [f"127.0.0.1:{self.port}", "127.0.0.1:1", "Registry.Example.org"]
        self.egress = Egress(listener, allowed, self.refused.append, self.unreachable.append)
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
        connection.connect(self.path)
        connection.sendall(f"{head}\r\n\r\n".encode())
        return connection

    def status(self, head: str) -> bytes:
        with closing(self.open(head)) as connection:
            return connection.recv(1000).split(b" ")[1]


class Resolutions:
    """Results of look-ups in their order. None is a failure."""

    def __init__(self, *results: str | None) -> None:
        self.results, self.count = list(results), 0

    def __call__(self, host: str, *_arguments: object, **_options: object) -> list[tuple[object, ...]]:
        self.count += 1
        address = self.results.pop(0)
        if address is None:
            raise socket.gaierror(f"{host} is unknown")
        return [(0, 0, 0, "", (address, 0))]


class TestResolver:
    def test_address_is_stored(self, monkeypatch: pytest.MonkeyPatch) -> None:
        resolutions = Resolutions("192.0.2.1", "192.0.2.2")
        monkeypatch.setattr(egress_proxy.socket, "getaddrinfo", resolutions)
        hosts = egress_proxy.HostAddresses()
        assert [hosts.addresses("a.example.org") for _ in range(3)] == [["192.0.2.1"]] * 3
        assert resolutions.count == 1

    def test_address_without_a_lifetime_is_looked_up_again(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(egress_proxy.socket, "getaddrinfo", Resolutions("192.0.2.1", "192.0.2.2"))
        hosts = egress_proxy.HostAddresses(lifetime_s=0)
        assert [hosts.addresses("a.example.org") for _ in range(2)] == [["192.0.2.1"], ["192.0.2.2"]]

    def test_failed_look_up_is_repeated_once(self, monkeypatch: pytest.MonkeyPatch) -> None:
        resolutions = Resolutions(None, "192.0.2.1", None, None)
        monkeypatch.setattr(egress_proxy.socket, "getaddrinfo", resolutions)
        hosts = egress_proxy.HostAddresses(pause_s=0)
        assert hosts.addresses("a.example.org") == ["192.0.2.1"]
        with pytest.raises(OSError, match="unknown"):
            hosts.addresses("b.example.org")
        assert resolutions.count == 4


@pytest.fixture
def egress_server(tmp_path: Path) -> Iterator[EgressWithEchoServer]:
    egress_server = EgressWithEchoServer(tmp_path)
    yield egress_server
    egress_server.egress.close()
    egress_server.echo.shutdown(socket.SHUT_RDWR)
    egress_server.echo.close()


class TestEgress:
    def test_listed_host_is_connected(self, egress_server: EgressWithEchoServer) -> None:
        with closing(egress_server.open(f"CONNECT 127.0.0.1:{egress_server.port} HTTP/1.1")) as connection:
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
    def test_unlisted_or_invalid_target_receives_403(self, egress_server: EgressWithEchoServer, head: str) -> None:
        assert egress_server.status(head) == b"403"

    def test_plain_http_is_forwarded_with_a_path_and_without_proxy_headers(
        self, egress_server: EgressWithEchoServer
    ) -> None:
        head = f"GET http://127.0.0.1:{egress_server.port}/a?b HTTP/1.1\r\nHost: h\r\nProxy-Authorization: x\r\nConnection: keep-alive"
        with closing(egress_server.open(head)) as connection:
            passed = connection.recv(1000)
        assert passed == b"GET /a?b HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n"

    def test_unreachable_listed_host_is_reported(self, egress_server: EgressWithEchoServer) -> None:
        assert egress_server.status("CONNECT 127.0.0.1:1 HTTP/1.1") == b"502"
        assert egress_server.status("CONNECT other.example.org:443 HTTP/1.1") == b"403"
        assert (egress_server.unreachable, egress_server.refused) == (["127.0.0.1:1"], ["other.example.org:443"])

    @pytest.mark.parametrize(
        "rubbish", ["", "x", "CONNECT", "CONNECT a:b c", "GET http://[ HTTP/1.1", "CONNECT :443 HTTP/1.1"]
    )
    def test_invalid_request_is_refused_and_the_proxy_continues(
        self, egress_server: EgressWithEchoServer, rubbish: str
    ) -> None:
        with closing(egress_server.open(rubbish)) as connection:
            assert not connection.recv(1000).startswith(b"HTTP/1.1 200")
        self.test_listed_host_is_connected(egress_server)

    def test_close_ends_open_connections_and_refuses_new_ones(self, egress_server: EgressWithEchoServer) -> None:
        connection = egress_server.open(f"CONNECT 127.0.0.1:{egress_server.port} HTTP/1.1")
        assert connection.recv(1000).startswith(b"HTTP/1.1 200")
        egress_server.egress.close()
        assert connection.recv(1) == b""
        connection.close()
        with socket.socket(socket.AF_UNIX) as late, pytest.raises(OSError):
            late.connect(egress_server.path)
