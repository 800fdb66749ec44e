"""WebSockets into a sandbox: after the handshake, bytes both ways on the server's own socket.

gunicorn hands the socket out as `gunicorn.socket`; a StopIteration from the application tells it that the connection
was taken over and is to be closed.
"""

import contextlib
import socket
import threading
import time
from collections.abc import Callable, Iterable
from typing import Any

from app.drivers.sandbox.port import Upstream
from app.http import preview_pages as pages
from app.http.preview_headers import head

PIECE_BYTES = 64 * 1024
CHECK_S = 10
"""How soon a lost membership ends an open connection."""


def is_upgrade(environ: dict[str, Any]) -> bool:
    """Whether the request wants a WebSocket."""
    wanted = "upgrade" in environ.get("HTTP_CONNECTION", "").lower()
    return wanted and environ.get("HTTP_UPGRADE", "").lower() == "websocket"


def upgrade(
    environ: dict[str, Any], start_response: Callable[..., Any], upstream: Upstream, *, allowed: Callable[[], bool]
) -> Iterable[bytes]:
    """Pass the handshake on, then carry bytes until either side ends, or the user may no longer.

    Raises:
        StopIteration: always, where the connection was taken over.
    """
    client: socket.socket | None = environ.get("gunicorn.socket")
    if client is None:
        upstream.connection.close()
        return pages.not_answering()(environ, start_response)
    with contextlib.closing(upstream.connection) as inner:
        with contextlib.suppress(OSError):
            inner.sendall(head(environ, upstream, ("Connection", "Upgrade"), ("Upgrade", "websocket")))
            threading.Thread(target=_carry, args=(client, inner), daemon=True).start()
            _carry_back(inner, client, allowed)
        for each in (inner, client):
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
    raise StopIteration


def _carry(source: socket.socket, sink: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while piece := source.recv(PIECE_BYTES):
            sink.sendall(piece)
    with contextlib.suppress(OSError):
        sink.shutdown(socket.SHUT_RDWR)


def _carry_back(source: socket.socket, sink: socket.socket, allowed: Callable[[], bool]) -> None:
    source.settimeout(CHECK_S)
    next_check = time.monotonic() + CHECK_S
    while True:
        try:
            piece = source.recv(PIECE_BYTES)
        except TimeoutError:
            piece = None
        if piece == b"":
            return
        if time.monotonic() >= next_check:
            if not allowed():
                return
            next_check = time.monotonic() + CHECK_S
        if piece:
            sink.sendall(piece)
