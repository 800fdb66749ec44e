"""Looking at connections."""

import socket
import ssl
import struct
from collections.abc import Iterator

import pytest

from app.core.sockets import hung_up, peek


@pytest.fixture
def pair() -> Iterator[tuple[socket.socket, socket.socket]]:
    """Both ends of a TCP connection on loopback."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        near = socket.create_connection(server.getsockname())
        far, _ = server.accept()
    with near, far:
        yield near, far


class TestHungUp:
    def test_open_connection_is_looked_at_without_waiting(self, pair: tuple[socket.socket, socket.socket]) -> None:
        assert not hung_up(pair[0])
        assert peek(pair[0]) is None

    @pytest.mark.parametrize("timeout_s", [None, 0.2, 0.0])
    def test_timeout_of_the_socket_is_not_waited_for(
        self, pair: tuple[socket.socket, socket.socket], timeout_s: float | None
    ) -> None:
        pair[0].settimeout(timeout_s)  # Python would wait for it and then raise, which reads like an end
        assert peek(pair[0]) is None
        pair[1].sendall(b"x")
        assert peek(pair[0]) == b"x"

    def test_closed_one_is_told(self, pair: tuple[socket.socket, socket.socket]) -> None:
        pair[1].close()
        assert hung_up(pair[0])

    def test_reset_one_is_told(self, pair: tuple[socket.socket, socket.socket]) -> None:
        pair[1].setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        pair[1].close()
        assert hung_up(pair[0])

    def test_one_closed_on_this_side_is_told(self, pair: tuple[socket.socket, socket.socket]) -> None:
        pair[0].close()
        assert hung_up(pair[0])

    def test_bytes_that_wait_stay_where_they_are(self, pair: tuple[socket.socket, socket.socket]) -> None:
        pair[1].sendall(b"next")
        pair[1].close()
        assert not hung_up(pair[0])
        assert pair[0].recv(10) == b"next"

    def test_connection_that_cannot_be_looked_at_counts_as_open(
        self, pair: tuple[socket.socket, socket.socket]
    ) -> None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        with context.wrap_socket(pair[0], server_hostname="x", do_handshake_on_connect=False) as secure:
            assert not hung_up(secure)
