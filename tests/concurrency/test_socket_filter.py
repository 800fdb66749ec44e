"""Tests of the filter that stops new connections of a listening socket."""

import socket
import sys
from collections.abc import Iterator

import pytest

from app.concurrency.socket_filter import reject_new_connections

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux can")


@pytest.fixture(params=[socket.AF_INET, socket.AF_INET6], ids=["ipv4", "ipv6"])
def listener(request: pytest.FixtureRequest) -> Iterator[socket.socket]:
    with socket.socket(request.param) as made:
        made.bind(("127.0.0.1" if request.param == socket.AF_INET else "::1", 0))
        made.listen(16)
        yield made


def connect(listener: socket.socket, timeout_s: float = 5) -> socket.socket:
    return socket.create_connection(listener.getsockname()[:2], timeout=timeout_s)


class TestSocketFilter:
    def test_filter_accepts_earlier_connections(self, listener: socket.socket) -> None:
        with connect(listener) as early:
            early.sendall(b"hello")
            reject_new_connections(listener)
            accepted, _ = listener.accept()
            with accepted:
                assert accepted.recv(5) == b"hello"

    def test_filter_refuses_connections_after_the_close(self, listener: socket.socket) -> None:
        place = listener.getsockname()[:2]
        reject_new_connections(listener)
        with pytest.raises(TimeoutError):
            connect(listener, timeout_s=0.2)
        listener.close()
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(place, timeout=5)
