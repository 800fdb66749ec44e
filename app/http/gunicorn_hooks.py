"""Hooks that end a request: unread bodies are discarded at a low cost, or their connection is closed."""

import contextlib
import ctypes
import socket
import sys
from collections.abc import Callable
from functools import cache
from typing import Protocol
from wsgiref.types import InputStream, WSGIEnvironment

from flask import Flask, Response, request

from app.concurrency.threadpool import switch, time_limit
from app.http.connection_body import DRAIN_BYTES, ConnectionBody

LARGE_BYTES = 512 * 1024
DRAIN_TIMEOUT_S = 5.0
LINGER_S = 3.0


def return_free_memory() -> None:
    """Return the free pages of the heap to the system. The C library keeps those between small objects otherwise."""
    trim = _malloc_trim()
    if trim is not None:
        trim(0)


@cache
def _malloc_trim() -> Callable[[int], object] | None:
    """Return the function of the GNU C library. Other libraries do not have it."""
    return getattr(ctypes.CDLL(None), "malloc_trim", None) if sys.platform == "linux" else None


class ClosableRequest(Protocol):
    """The part of gunicorn's request that the hook needs."""

    def force_close(self) -> None:
        """Close the connection after this request."""


def init_app(app: Flask) -> None:
    """Register the hook that announces the end of a connection."""
    app.after_request(_end_connection)


def _end_connection(response: Response) -> Response:
    """End the connection of a long body that was not read, and of a refused one whose end is unknown."""
    body = request.environ.get("wsgi.input")
    if isinstance(body, ConnectionBody) and (body.is_long or (body.is_open and response.status_code >= 400)):
        body.end_connection()
    return response


def finish_request(http_request: ClosableRequest, environ: WSGIEnvironment) -> None:
    """Discard the unread body of a request, and return the memory of a large one."""
    discard_body(http_request, environ)
    if int(environ.get("CONTENT_LENGTH") or 0) > LARGE_BYTES:
        return_free_memory()


def discard_body(http_request: ClosableRequest, environ: WSGIEnvironment) -> None:
    """Discard the unread body of a request, so that its connection can serve the next one.

    gunicorn discards an unread body in steps of 1 KiB and copies its buffer in each step: 24 MiB take seconds in which
    the worker serves no other request. A body with more than `DRAIN_BYTES` closes the connection instead, and is not
    read.
    """
    if not environ.get("CONTENT_LENGTH") and "HTTP_TRANSFER_ENCODING" not in environ:
        return
    body = environ["wsgi.input"]
    if (isinstance(body, ConnectionBody) and body.is_long) or not _is_drained(body):
        http_request.force_close()
        linger(environ["gunicorn.socket"])


def _is_drained(body: InputStream) -> bool:
    try:
        with time_limit(DRAIN_TIMEOUT_S, TimeoutError()):
            return len(body.read(DRAIN_BYTES + 1)) <= DRAIN_BYTES
    except Exception:
        # The body is malformed, or the client is slow: the start of the next request is unknown.
        return False


def linger(connection: socket.socket) -> None:
    """End the response and discard what the client still sends.

    A socket that is closed with unread bytes is reset, and the client could lose the response.
    """
    with contextlib.suppress(OSError), time_limit(LINGER_S, TimeoutError()):
        connection.shutdown(socket.SHUT_WR)
        while connection.recv(DRAIN_BYTES):
            switch()
