"""Tests of the detection of disconnected callers."""

import socket
import threading

import pytest
from flask import Flask, request

from app.http.streaming import disconnects

pytestmark = pytest.mark.one_database


class TestWatch:
    def test_disconnect_calls_the_callback(self, app: Flask) -> None:
        near, far = socket.socketpair()
        left = threading.Event()
        with near, app.test_request_context(environ_overrides={disconnects.SOCKET: near}):
            disconnects.on_disconnect(request, left.set)
            assert not left.wait(0.8)
            far.close()
            assert left.wait(60)

    def test_ended_watch_does_not_call_the_callback(self, app: Flask) -> None:
        near, far = socket.socketpair()
        left = threading.Event()
        with near, app.test_request_context(environ_overrides={disconnects.SOCKET: near}):
            disconnects.on_disconnect(request, left.set)()
            far.close()
            assert not left.wait(1)

    def test_request_without_a_socket_is_not_watched(self, app: Flask) -> None:
        with app.test_request_context():
            disconnects.on_disconnect(request, lambda: None)()
