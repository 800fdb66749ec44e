"""WebSockets to a sandbox. After the handshake, bytes are forwarded in both directions.

gunicorn provides the socket of the client as `gunicorn.socket`. A StopIteration from the application means that the
connection was taken over and must be closed.
"""

import contextlib
import socket
import threading
import time
from collections.abc import Callable, Iterable
from wsgiref.types import StartResponse, WSGIEnvironment

from app.access.guards import is_permitted
from app.core.urls import split_url
from app.drivers.sandbox.port import Upstream
from app.http.streaming import response
from app.preview_proxy import pages
from app.preview_proxy.headers import request_head

PIECE_BYTES = 64 * 1024
HEAD_BYTES = 16 * 1024
HANDSHAKE_S = 30


class HandshakeRefused(Exception):
    """The server in the sandbox rejected the handshake."""


def is_upgrade(environ: WSGIEnvironment) -> bool:
    """Return True if the request opens a WebSocket."""
    is_upgrade_requested = "upgrade" in environ.get("HTTP_CONNECTION", "").lower()
    return is_upgrade_requested and environ.get("HTTP_UPGRADE", "").lower() == "websocket"


def is_cross_origin(environ: WSGIEnvironment) -> bool:
    """Return True if a page of another host opens it. Browsers send the cookie of the visitor with such a request."""
    origin = environ.get("HTTP_ORIGIN")
    return origin is not None and split_url(origin).hostname != split_url(f"//{environ.get('HTTP_HOST', '')}").hostname


def upgrade(
    environ: WSGIEnvironment,
    start_response: StartResponse,
    upstream: Upstream,
    *,
    allowed: Callable[[], bool],
    check_s: float,
) -> Iterable[bytes]:
    """Forward the handshake, then all bytes until one side disconnects or the membership ends.

    Check this every `check_s`.

    Raises:
        StopIteration: the connection was taken over. This is raised after each accepted handshake.
    """
    with contextlib.closing(upstream.connection) as inner:
        try:
            client: socket.socket = environ["gunicorn.socket"]
            inner.settimeout(HANDSHAKE_S)
            inner.sendall(request_head(environ, upstream, ("Connection", "Upgrade"), ("Upgrade", "websocket")))
            head, first = _read_handshake(inner)
        except (KeyError, OSError, HandshakeRefused):
            return pages.bad_gateway()(environ, start_response)
        with contextlib.suppress(OSError):
            client.sendall(head + first)
            threading.Thread(target=_forward, args=(client, inner), daemon=True).start()
            _forward_to_client(inner, client, allowed, check_s)
        for connection in (inner, client):
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
    raise StopIteration


def _read_handshake(inner: socket.socket) -> tuple[bytes, bytes]:
    """Return the head of the response, reduced to the handshake, and the bytes that followed it.

    Raises:
        HandshakeRefused: the response is not a switch to the WebSocket protocol.
    """
    read = b""
    while b"\r\n\r\n" not in read:
        piece = inner.recv(PIECE_BYTES)
        if not piece or len(read) > HEAD_BYTES:
            raise HandshakeRefused
        read += piece
    head, _, first = read.partition(b"\r\n\r\n")
    status, *lines = head.split(b"\r\n")
    if status.split(b" ", 2)[:2] != [b"HTTP/1.1", b"101"]:
        raise HandshakeRefused
    lines_out = [b"HTTP/1.1 101 Switching Protocols", b"Connection: Upgrade", b"Upgrade: websocket"]
    lines_out += [line for line in lines if line.lower().startswith(b"sec-websocket-") and line.isascii()]
    return b"\r\n".join([*lines_out, b"", b""]), first


def _forward(source: socket.socket, sink: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while piece := source.recv(PIECE_BYTES):
            sink.sendall(piece)
            time.sleep(0)  # yields to other greenlets
    with contextlib.suppress(OSError):
        sink.shutdown(socket.SHUT_RDWR)


def _forward_to_client(source: socket.socket, sink: socket.socket, allowed: Callable[[], bool], check_s: float) -> None:
    source.settimeout(check_s)
    next_check = time.monotonic() + check_s
    while True:
        try:
            piece = source.recv(PIECE_BYTES)
        except TimeoutError:
            piece = None
        if piece == b"":
            return
        if time.monotonic() >= next_check:
            if response.draining() or not is_permitted(allowed):
                return
            next_check = time.monotonic() + check_s
        if piece:
            sink.sendall(piece)
            time.sleep(0)
