"""Tests of the detection of closed connections."""

import socket
import ssl
import struct
from collections.abc import Iterator

import pytest

from app.http.streaming.disconnects import is_closed_by_peer


@pytest.fixture
def pair() -> Iterator[tuple[socket.socket, socket.socket]]:
    """Both ends of a TCP connection on loopback."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        near = socket.create_connection(server.getsockname())
        far, _ = server.accept()
    with near, far:
        yield near, far


class TestIsClosedByPeer:
    def test_open_connection_returns_false(self, pair: tuple[socket.socket, socket.socket]) -> None:
        assert not is_closed_by_peer(pair[0])

    @pytest.mark.parametrize("timeout_s", [None, 0.2, 0.0])
    def test_check_ignores_the_timeout_of_the_socket(
        self, pair: tuple[socket.socket, socket.socket], timeout_s: float | None
    ) -> None:
        pair[0].settimeout(timeout_s)
        assert not is_closed_by_peer(pair[0])
        pair[1].sendall(b"x")
        assert not is_closed_by_peer(pair[0])

    def test_closed_connection_returns_true(self, pair: tuple[socket.socket, socket.socket]) -> None:
        pair[1].close()
        assert is_closed_by_peer(pair[0])

    def test_reset_connection_returns_true(self, pair: tuple[socket.socket, socket.socket]) -> None:
        pair[1].setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        pair[1].close()
        assert is_closed_by_peer(pair[0])

    def test_locally_closed_connection_returns_true(self, pair: tuple[socket.socket, socket.socket]) -> None:
        pair[0].close()
        assert is_closed_by_peer(pair[0])

    def test_check_leaves_received_bytes_unread(self, pair: tuple[socket.socket, socket.socket]) -> None:
        pair[1].sendall(b"next")
        pair[1].close()
        assert not is_closed_by_peer(pair[0])
        assert pair[0].recv(10) == b"next"

    def test_uncheckable_connection_returns_false(self, pair: tuple[socket.socket, socket.socket]) -> None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        with context.wrap_socket(pair[0], server_hostname="x", do_handshake_on_connect=False) as secure:
            assert not is_closed_by_peer(secure)
