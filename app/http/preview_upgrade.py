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

from app.core.urls import parts_of
from app.drivers.sandbox.port import Upstream
from app.http import preview_pages as pages
from app.http import streaming
from app.http.preview_headers import head
from app.http.preview_incoming import CHECK_S
from app.http.rights import still

PIECE_BYTES = 64 * 1024
HEAD_BYTES = 16 * 1024
HANDSHAKE_S = 30


class NoHandshake(Exception):
    """The server inside did not agree to a WebSocket."""


def is_upgrade(environ: dict[str, Any]) -> bool:
    """Whether the request wants a WebSocket."""
    wanted = "upgrade" in environ.get("HTTP_CONNECTION", "").lower()
    return wanted and environ.get("HTTP_UPGRADE", "").lower() == "websocket"


def is_from_elsewhere(environ: dict[str, Any]) -> bool:
    """Whether a page of another host opens it: browsers let any page do that, with the visitor's cookie, and read on."""
    origin = environ.get("HTTP_ORIGIN")
    return origin is not None and parts_of(origin).hostname != parts_of(f"//{environ.get('HTTP_HOST', '')}").hostname


def upgrade(
    environ: dict[str, Any], start_response: Callable[..., Any], upstream: Upstream, *, allowed: Callable[[], bool]
) -> Iterable[bytes]:
    """Pass the handshake on, then carry bytes until either side ends, or the user may no longer.

    Raises:
        StopIteration: always, where the connection was taken over.
    """
    with contextlib.closing(upstream.connection) as inner:
        try:
            client: socket.socket = environ["gunicorn.socket"]
            inner.settimeout(HANDSHAKE_S)
            inner.sendall(head(environ, upstream, ("Connection", "Upgrade"), ("Upgrade", "websocket")))
            agreed, first = _agreed(inner)
        except (KeyError, OSError, NoHandshake):
            return pages.not_answering()(environ, start_response)
        with contextlib.suppress(OSError):
            client.sendall(agreed + first)
            threading.Thread(target=_carry, args=(client, inner), daemon=True).start()
            _carry_back(inner, client, allowed)
        for each in (inner, client):
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
    raise StopIteration


def _agreed(inner: socket.socket) -> tuple[bytes, bytes]:
    """The head of the answer with what belongs to the handshake and nothing else, and what already came behind it.

    Raises:
        NoHandshake: it is no agreement.
    """
    read = b""
    while b"\r\n\r\n" not in read:
        piece = inner.recv(PIECE_BYTES)
        if not piece or len(read) > HEAD_BYTES:
            raise NoHandshake
        read += piece
    told, _, first = read.partition(b"\r\n\r\n")
    status, *lines = told.split(b"\r\n")
    if status.split(b" ", 2)[:2] != [b"HTTP/1.1", b"101"]:
        raise NoHandshake
    ours = [b"HTTP/1.1 101 Switching Protocols", b"Connection: Upgrade", b"Upgrade: websocket"]
    ours += [line for line in lines if line.lower().startswith(b"sec-websocket-") and line.isascii()]
    return b"\r\n".join([*ours, b"", b""]), first


def _carry(source: socket.socket, sink: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while piece := source.recv(PIECE_BYTES):
            sink.sendall(piece)
            time.sleep(0)  # lets others of this worker in between
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
            if streaming.draining() or not still(allowed):
                return
            next_check = time.monotonic() + CHECK_S
        if piece:
            sink.sendall(piece)
            time.sleep(0)
