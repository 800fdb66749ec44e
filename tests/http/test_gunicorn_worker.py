"""Tests of the end of a worker: idle connections and connections that delay the exit; limits of a request head."""

import socket
import time
from collections.abc import Iterator

import pytest
from gunicorn.config import Config
from gunicorn.http.errors import LimitRequestHeaders, LimitRequestLine
from gunicorn.http.unreader import IterUnreader
from gunicorn.workers.ggevent import GeventWorker

from app.http.gunicorn_worker import MAX_HEAD_BYTES, MAX_LINE_BYTES, BoundedRequest, GalleyWorker


@pytest.fixture
def connection() -> Iterator[tuple[socket.socket, socket.socket]]:
    """Return the client side and the server side of a connection."""
    client, server = socket.socketpair()
    yield client, server
    client.close()
    server.close()


def connected(listeners: list[socket.socket], *clients: socket.socket) -> GalleyWorker:
    """Return a worker with these listeners and open connections that wait for a request."""
    worker = GalleyWorker.__new__(GalleyWorker)
    worker.sockets, worker._waiting_since = listeners, dict.fromkeys(clients, time.monotonic())
    return worker


class TestCloseIdleConnections:
    def test_close_idle_connections_ends_a_connection_that_waits(
        self, connection: tuple[socket.socket, socket.socket]
    ) -> None:
        client, server = connection
        client.sendall(b"GET")
        connected([], server).close_idle_connections(0)
        assert server.recv(10) == b"GET"  # Received bytes stay readable.
        assert server.recv(10) == b""

    def test_close_idle_connections_keeps_a_connection_with_a_request(
        self, connection: tuple[socket.socket, socket.socket], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        client, server = connection
        worker = connected([], server)
        monkeypatch.setattr(GeventWorker, "handle_request", lambda *_: worker.close_idle_connections(0))
        worker.handle_request(None, None, server, None)
        client.sendall(b"GET")
        assert server.recv(10) == b"GET"
        worker.close_idle_connections(0)
        assert server.recv(10) == b""

    def test_close_idle_connections_keeps_a_recent_connection(
        self, connection: tuple[socket.socket, socket.socket]
    ) -> None:
        client, server = connection
        connected([], server).close_idle_connections(60)
        client.sendall(b"GET")
        assert server.recv(10) == b"GET"


class TestIsServing:
    def test_is_serving_counts_open_connections(self, connection: tuple[socket.socket, socket.socket]) -> None:
        assert connected([], connection[1]).is_serving()
        assert not connected([]).is_serving()

    def test_is_serving_counts_connections_that_wait_to_be_accepted(self) -> None:
        with socket.create_server(("127.0.0.1", 0)) as listener:
            worker = connected([listener])
            assert not worker.is_serving()
            with socket.create_connection(listener.getsockname()):
                assert worker.is_serving()

    def test_is_serving_ignores_closed_listeners(self) -> None:
        listener = socket.create_server(("127.0.0.1", 0))
        listener.close()
        assert not connected([listener]).is_serving()


@pytest.fixture(params=["python", "fast"])
def settings(request: pytest.FixtureRequest) -> Config:
    """Return the limits of `gunicorn.conf.py` with each parser. The parser in C is optional."""
    if request.param == "fast":
        pytest.importorskip("gunicorn_h1c")
    settings = Config()
    limits = {"limit_request_line": 0, "limit_request_fields": 64, "limit_request_field_size": 16 * 1024}
    for name, value in (limits | {"http_parser": request.param}).items():
        settings.set(name, value)
    return settings


def parse(settings: Config, head: bytes) -> tuple[BoundedRequest, int]:
    """Parse a head that arrives in parts. Return the request and the number of parts that were read."""
    parts = [head[start : start + 1024] for start in range(0, len(head), 1024)]
    remaining = iter(parts)
    request = BoundedRequest(settings, IterUnreader(remaining), ("127.0.0.1", 1))
    return request, len(parts) - len(list(remaining))


class TestBoundedRequest:
    def test_head_below_the_limits_is_parsed(self, settings: Config) -> None:
        url, value = "/" + "a" * 8000, "b" * 15_000
        request, _ = parse(settings, f"GET {url} HTTP/1.1\r\nHost: x\r\nCookie: {value}\r\n\r\n".encode())
        assert (request.uri, dict(request.headers)["COOKIE"]) == (url, value)

    def test_endless_line_is_refused_at_its_limit(self, settings: Config) -> None:
        head = b"GET /" + b"a" * 1_000_000
        with pytest.raises(LimitRequestLine):
            parse(settings, head)

    def test_endless_headers_are_refused_at_their_limit(self, settings: Config) -> None:
        parts = iter([b"GET / HTTP/1.1\r\n", *(b"X-%d: %s\r\n" % (n, b"a" * 1000) for n in range(1000))])
        with pytest.raises(LimitRequestHeaders):
            BoundedRequest(settings, IterUnreader(parts), ("127.0.0.1", 1))
        received = 1000 - len(list(parts))
        assert received * 1000 <= MAX_LINE_BYTES + MAX_HEAD_BYTES + 2000
