"""Tests of the bounded reader on a pair of sockets."""

import socket
import threading
import time
from collections.abc import Iterator
from http.client import HTTPException

import pytest
import sqlalchemy as sa

from app.preview_proxy.http_exchange import STEP_BYTES, BoundedReader

CHECK_S = 0.01


@pytest.fixture
def ends() -> Iterator[tuple[socket.socket, socket.socket]]:
    proxy_end, site_end = socket.socketpair()
    with proxy_end, site_end:
        yield proxy_end, site_end


def membership_ended() -> bool:
    return False


def database_unavailable() -> bool:
    raise sa.exc.OperationalError("SELECT", None, Exception("the database is unavailable"))


def send_later(site_end: socket.socket, content: bytes) -> threading.Timer:
    timer = threading.Timer(0.2, site_end.sendall, [content])
    timer.start()
    return timer


def test_read_beyond_the_step_limit_raises(ends: tuple[socket.socket, socket.socket]) -> None:
    proxy_end, site_end = ends
    incoming = BoundedReader(proxy_end, lambda: True, check_s=CHECK_S)
    site_end.setblocking(False)
    taken, flood = 0, bytes(64 * 1024)

    def take() -> int:
        site_end.send(flood)
        return incoming.readinto(memoryview(bytearray(64 * 1024)))

    while taken < STEP_BYTES:
        taken += take()
    with pytest.raises(HTTPException):
        take()
    incoming.reset_budget()
    assert take() > 0


class TestMembership:
    def test_ended_membership_raises_during_silence(self, ends: tuple[socket.socket, socket.socket]) -> None:
        with pytest.raises(HTTPException):
            BoundedReader(ends[0], membership_ended, check_s=CHECK_S).readinto(memoryview(bytearray(8)))

    def test_ended_membership_raises_before_new_bytes_are_returned(
        self, ends: tuple[socket.socket, socket.socket]
    ) -> None:
        proxy_end, site_end = ends
        incoming = BoundedReader(proxy_end, membership_ended, check_s=CHECK_S)
        site_end.sendall(b"late")
        time.sleep(2 * CHECK_S)
        with pytest.raises(HTTPException):
            incoming.readinto(memoryview(bytearray(8)))

    def test_member_receives_bytes_after_a_silence(self, ends: tuple[socket.socket, socket.socket]) -> None:
        proxy_end, site_end = ends
        sending = send_later(site_end, b"late")
        read = bytearray(8)
        assert BoundedReader(proxy_end, lambda: True, check_s=CHECK_S).readinto(memoryview(read)) == 4
        assert read[:4] == b"late"
        sending.join()

    def test_unavailable_database_keeps_the_connection(self, ends: tuple[socket.socket, socket.socket]) -> None:
        proxy_end, site_end = ends
        sending = send_later(site_end, b"late")
        assert BoundedReader(proxy_end, database_unavailable, check_s=CHECK_S).readinto(memoryview(bytearray(8))) == 4
        sending.join()

    def test_silence_longer_than_the_limit_raises_timeout(self, ends: tuple[socket.socket, socket.socket]) -> None:
        with pytest.raises(TimeoutError):
            BoundedReader(ends[0], lambda: True, check_s=CHECK_S, silence_s=0.05).readinto(memoryview(bytearray(8)))
