"""Memory and responsiveness of a server while clients send large bodies that never end."""

import contextlib
import select
import socket
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import requests

from tests.support.servers.service import Service

CONNECTIONS, SENT_BYTES, DECLARED_BYTES = 120, 24 * 1024 * 1024, 25 * 1024 * 1024
MAX_GROWTH_KIB = 256 * 1024
ATTACK_S = 6.0
PATH = "/api/v1/project-content/prj_01h455vb4pex5vsknk084sn02q/commit"
PIECE = b" " * 65536


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Service]:
    with Service(tmp_path, workers=1, RATE_LIMIT_SCALE="1") as service:
        yield service


class Flood:
    """Connections that each send most of a body and then wait."""

    def __init__(self, service: Service, cookie: str) -> None:
        head = (
            f"POST {PATH} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
            f"{cookie}Content-Length: {DECLARED_BYTES}\r\n\r\n"
        )
        self.replies: dict[socket.socket, bytes] = {}
        self.remaining: dict[socket.socket, int] = {}
        self.open: set[socket.socket] = set()
        for _ in range(CONNECTIONS):
            connection = socket.create_connection(("127.0.0.1", service.port), timeout=5)
            connection.sendall(head.encode())
            connection.setblocking(False)
            self.replies[connection], self.remaining[connection] = b"", SENT_BYTES
            self.open.add(connection)

    def step(self) -> None:
        """Send as many bytes as the server accepts, and receive responses."""
        readable, writable, _ = select.select(self.open, list(self.remaining), [], 0.05)
        for connection in readable:
            self._receive(connection)
        for connection in writable:
            self._send(connection)

    def statuses(self) -> list[int]:
        return [int(reply.split(b" ", 2)[1]) for reply in self.replies.values() if reply]

    def close(self) -> None:
        for connection in self.replies:
            connection.close()

    def _receive(self, connection: socket.socket) -> None:
        data = b""
        with contextlib.suppress(ConnectionError):
            data = connection.recv(65536)
        self.replies[connection] += data
        if not data:
            self.open.discard(connection)

    def _send(self, connection: socket.socket) -> None:
        try:
            self.remaining[connection] -= connection.send(PIECE)
        except OSError:
            self.remaining[connection] = 0
        if self.remaining[connection] <= 0:
            del self.remaining[connection]


@pytest.mark.parametrize("signed_in", [False, True], ids=["anonymous", "signed_in"])
def test_unfinished_bodies_do_not_affect_memory_and_health_checks(service: Service, signed_in: bool) -> None:
    cookie = f"Cookie: session_token={service.world.person().token}\r\n" if signed_in else ""
    requests.get(f"{service.url}/healthz", timeout=5)
    before_kib = service.memory_kib()
    flood, growth_kib, waits_s = Flood(service, cookie), [0], []
    until = time.monotonic() + ATTACK_S
    try:
        next_check = 0.0
        while time.monotonic() < until:
            flood.step()
            if time.monotonic() >= next_check:
                started = time.monotonic()
                requests.get(f"{service.url}/healthz", timeout=120)
                waits_s.append(time.monotonic() - started)
                growth_kib.append(service.memory_kib() - before_kib)
                next_check = time.monotonic() + 0.25
        statuses = flood.statuses()
    finally:
        flood.close()
    print(f"growth {max(growth_kib) // 1024} MiB, /healthz {max(waits_s):.3f} s, {sorted(set(statuses))}")
    assert max(growth_kib) <= MAX_GROWTH_KIB
    assert set(statuses) <= {401, 429, 503}
    assert len(statuses) >= CONNECTIONS - 2
