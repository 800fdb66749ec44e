"""Open connections into a sandbox: when they end from our side."""

import socket
import threading

import pytest

from app.http import preview_upgrade, streaming


@pytest.mark.parametrize(("draining", "allowed"), [(True, True), (False, False)])
def test_a_silent_connection_ends_with_the_process_and_with_the_membership(
    monkeypatch: pytest.MonkeyPatch, draining: bool, allowed: bool
) -> None:
    monkeypatch.setattr(preview_upgrade, "CHECK_S", 0.05)
    sandbox, inner = socket.socketpair()
    client, browser = socket.socketpair()
    with sandbox, inner, client, browser:
        done = threading.Event()
        told = (inner, client, lambda: allowed or not done.is_set())
        carried = threading.Thread(target=preview_upgrade._carry_back, args=told)
        carried.start()
        sandbox.sendall(b"still here")
        assert browser.recv(10) == b"still here"
        if draining:
            monkeypatch.setattr(streaming, "draining", lambda: True)
        done.set()
        carried.join(10)
        assert not carried.is_alive()
