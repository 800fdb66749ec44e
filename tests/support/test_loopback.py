"""Tests of the guard against connections to other machines."""

import socket

import pytest

from tests.support.loopback import OutsideConnectionError


class TestLoopbackOnly:
    @pytest.mark.parametrize("host", ["192.0.2.1", "10.0.0.1", "galley.example.org"])
    def test_connection_to_another_host_raises(self, host: str) -> None:
        with socket.socket() as client, pytest.raises(OutsideConnectionError, match=host):
            client.connect((host, 80))

    def test_connection_to_an_ipv6_host_raises(self) -> None:
        with socket.socket(socket.AF_INET6) as client, pytest.raises(OutsideConnectionError):
            client.connect_ex(("2001:db8::1", 80))

    def test_connection_to_loopback_is_allowed(self) -> None:
        with socket.create_server(("127.0.0.1", 0)) as server, socket.socket() as client:
            client.connect(server.getsockname())
