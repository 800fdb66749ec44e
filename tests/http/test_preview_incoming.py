"""What a sandbox sends, as one end of a pair of sockets."""

import socket
import threading
import time
from collections.abc import Iterator
from http.client import HTTPException

import pytest
import sqlalchemy as sa

from app.http import preview_incoming
from app.http.preview_incoming import STEP_BYTES, Incoming


@pytest.fixture
def ends() -> Iterator[tuple[socket.socket, socket.socket]]:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        yield ours, theirs


@pytest.fixture
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rights are looked at again at once."""
    monkeypatch.setattr(preview_incoming, "CHECK_S", 0.01)


def removed() -> bool:
    return False


def unknown() -> bool:
    raise sa.exc.OperationalError("SELECT", None, Exception("the database is away"))


def later(theirs: socket.socket, words: bytes) -> threading.Timer:
    timer = threading.Timer(0.2, theirs.sendall, [words])
    timer.start()
    return timer


def test_a_step_ends_however_much_there_is(ends: tuple[socket.socket, socket.socket]) -> None:
    ours, theirs = ends
    incoming = Incoming(ours, lambda: True)
    theirs.setblocking(False)
    taken, flood = 0, bytes(64 * 1024)

    def take() -> int:
        theirs.send(flood)
        return incoming.readinto(memoryview(bytearray(64 * 1024)))

    while taken < STEP_BYTES:
        taken += take()
    with pytest.raises(HTTPException):
        take()
    incoming.step()
    assert take() > 0


@pytest.mark.usefixtures("soon")
class TestRights:
    def test_who_may_no_longer_is_sent_away_while_nothing_comes(
        self, ends: tuple[socket.socket, socket.socket]
    ) -> None:
        with pytest.raises(HTTPException):
            Incoming(ends[0], removed).readinto(memoryview(bytearray(8)))

    def test_who_may_no_longer_gets_nothing_of_what_comes(self, ends: tuple[socket.socket, socket.socket]) -> None:
        ours, theirs = ends
        incoming = Incoming(ours, removed)
        theirs.sendall(b"late")
        time.sleep(2 * preview_incoming.CHECK_S)
        with pytest.raises(HTTPException):
            incoming.readinto(memoryview(bytearray(8)))

    def test_who_still_may_reads_on_after_a_silence(self, ends: tuple[socket.socket, socket.socket]) -> None:
        ours, theirs = ends
        sending = later(theirs, b"late")
        read = bytearray(8)
        assert Incoming(ours, lambda: True).readinto(memoryview(read)) == 4
        assert read[:4] == b"late"
        sending.join()

    def test_a_database_that_is_away_takes_nobody_s_rights(self, ends: tuple[socket.socket, socket.socket]) -> None:
        ours, theirs = ends
        sending = later(theirs, b"late")
        assert Incoming(ours, unknown).readinto(memoryview(bytearray(8))) == 4
        sending.join()

    def test_a_silence_ends(self, ends: tuple[socket.socket, socket.socket], monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(preview_incoming, "SILENCE_S", 0.05)
        with pytest.raises(TimeoutError):
            Incoming(ends[0], lambda: True).readinto(memoryview(bytearray(8)))
