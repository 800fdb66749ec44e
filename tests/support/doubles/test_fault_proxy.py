"""Tests of the fault proxy."""

import socket
import threading
from collections.abc import Iterator

import pytest

from tests.support.doubles.fault_proxy import FaultProxy, Mode


@pytest.fixture
def proxy() -> Iterator[FaultProxy]:
    """Return a proxy in front of an echo server."""
    listener = socket.create_server(("127.0.0.1", 0))

    def echo(connection: socket.socket) -> None:
        with connection:
            try:
                while piece := connection.recv(1000):
                    connection.sendall(piece)
            except OSError:
                return

    def serve() -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            threading.Thread(target=echo, args=(connection,), daemon=True).start()

    threading.Thread(target=serve, daemon=True).start()
    with FaultProxy(listener.getsockname()[1]) as made:
        yield made
    listener.shutdown(socket.SHUT_RDWR)
    listener.close()


def ask(connection: socket.socket, text: bytes = b"hello") -> bytes:
    connection.settimeout(2)
    connection.sendall(text)
    return connection.recv(1000)


def connect(proxy: FaultProxy) -> socket.socket:
    return socket.create_connection(("127.0.0.1", proxy.port), timeout=2)


class TestFaultProxy:
    def test_proxy_without_a_fault_forwards_bytes(self, proxy: FaultProxy) -> None:
        with connect(proxy) as connection:
            assert ask(connection) == b"hello"

    def test_refuse_mode_refuses_and_resets_connections_until_recovery(self, proxy: FaultProxy) -> None:
        with connect(proxy) as before:
            ask(before)
            proxy.fail(Mode.REFUSE)
            with pytest.raises(ConnectionRefusedError):
                connect(proxy)
            with pytest.raises(ConnectionResetError):
                ask(before)
        proxy.recover()
        with connect(proxy) as connection:
            assert ask(connection) == b"hello"

    @pytest.mark.parametrize("mode", [Mode.STALL, Mode.BLACKHOLE])
    def test_silent_modes_swallow_bytes_of_open_connections(self, proxy: FaultProxy, mode: Mode) -> None:
        with connect(proxy) as connection:
            ask(connection)
            proxy.fail(mode)
            connection.settimeout(0.2)
            connection.sendall(b"hello")
            with pytest.raises(TimeoutError):
                connection.recv(1000)

    def test_cut_mode_resets_after_the_given_number_of_bytes(self, proxy: FaultProxy) -> None:
        proxy.fail(Mode.CUT, cut_after=3)
        with connect(proxy) as connection:
            assert ask(connection) == b"hel"
            with pytest.raises(ConnectionResetError):
                connection.recv(1000)

    def test_reset_mode_resets_new_connections(self, proxy: FaultProxy) -> None:
        proxy.fail(Mode.RESET)
        with pytest.raises(ConnectionResetError), connect(proxy) as connection:
            connection.recv(1000)
