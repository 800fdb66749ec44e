"""Tests of idle connections while the worker ends."""

import socket
import threading
from collections.abc import Iterator

import pytest

from app.http.gunicorn_worker import GalleyWorker


@pytest.fixture
def connection() -> Iterator[tuple[socket.socket, socket.socket]]:
    """Return the client side and the server side of a connection."""
    client, server = socket.socketpair()
    yield client, server
    client.close()
    server.close()


def waiting(server: socket.socket) -> GalleyWorker:
    """Return a worker with the present greenlet as the server of the connection."""
    worker = GalleyWorker.__new__(GalleyWorker)
    worker._clients, worker._waiting_since = {threading.get_ident(): server}, {}
    worker.cfg = type("Config", (), {"keepalive": 30})()
    return worker


class TestCloseIdleConnections:
    def test_close_idle_connections_ends_a_connection_that_waits(
        self, connection: tuple[socket.socket, socket.socket]
    ) -> None:
        client, server = connection
        worker = waiting(server)
        with worker.timeout_ctx():
            client.sendall(b"GET")
            worker.close_idle_connections(0)
            assert server.recv(10) == b"GET"  # Received bytes stay readable.
            assert server.recv(10) == b""

    def test_close_idle_connections_keeps_recent_and_busy_connections(
        self, connection: tuple[socket.socket, socket.socket]
    ) -> None:
        client, server = connection
        worker = waiting(server)
        with worker.timeout_ctx():
            worker.close_idle_connections(60)
        worker.close_idle_connections(0)
        client.sendall(b"GET")
        assert server.recv(10) == b"GET"
