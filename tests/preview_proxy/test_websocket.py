"""Tests of the end of WebSocket connections by the service."""

import socket
import threading

import pytest

from app.http.streaming import response
from app.preview_proxy import websocket


@pytest.mark.parametrize(("draining", "allowed"), [(True, True), (False, False)])
def test_silent_connection_ends_with_the_process_or_the_membership(
    monkeypatch: pytest.MonkeyPatch, draining: bool, allowed: bool
) -> None:
    sandbox, inner = socket.socketpair()
    client, browser = socket.socketpair()
    with sandbox, inner, client, browser:
        ended = threading.Event()
        arguments = (inner, client, lambda: allowed or not ended.is_set(), 0.05)
        forwarding = threading.Thread(target=websocket._forward_to_client, args=arguments)
        forwarding.start()
        sandbox.sendall(b"still here")
        assert browser.recv(10) == b"still here"
        if draining:
            monkeypatch.setattr(response, "draining", lambda: True)
        ended.set()
        forwarding.join(10)
        assert not forwarding.is_alive()
