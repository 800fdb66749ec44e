"""Listening sockets: who gets in, who is refused, and when."""

import socket
import sys
from collections.abc import Iterator

import pytest

from app.core.listening import take_no_more

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux can")


@pytest.fixture(params=[socket.AF_INET, socket.AF_INET6], ids=["ipv4", "ipv6"])
def listener(request: pytest.FixtureRequest) -> Iterator[socket.socket]:
    with socket.socket(request.param) as made:
        made.bind(("127.0.0.1" if request.param == socket.AF_INET else "::1", 0))
        made.listen(16)
        yield made


def connect(listener: socket.socket, timeout_s: float = 5) -> socket.socket:
    return socket.create_connection(listener.getsockname()[:2], timeout=timeout_s)


class TestTakeNoMore:
    def test_who_was_connected_before_is_still_accepted_and_heard(self, listener: socket.socket) -> None:
        with connect(listener) as early:
            early.sendall(b"hello")
            take_no_more(listener)
            accepted, _ = listener.accept()
            with accepted:
                assert accepted.recv(5) == b"hello"

    def test_who_comes_later_is_refused_once_it_is_closed(self, listener: socket.socket) -> None:
        place = listener.getsockname()[:2]
        take_no_more(listener)
        with pytest.raises(TimeoutError):
            connect(listener, timeout_s=0.2)
        listener.close()
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(place, timeout=5)
