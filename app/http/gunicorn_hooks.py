"""Server hooks of gunicorn that end a request: unread bodies are discarded at a low cost."""

import contextlib
import socket
from collections.abc import Mapping
from typing import Any, Protocol

from app.concurrency.threadpool import switch, time_limit

DRAIN_BYTES = 64 * 1024
DRAIN_TIMEOUT_S = 5.0
LINGER_S = 3.0


class ClosableRequest(Protocol):
    """The part of gunicorn's request that the hook needs."""

    def force_close(self) -> None:
        """Close the connection after this request."""


def discard_body(request: ClosableRequest, environ: Mapping[str, Any]) -> None:
    """Discard the unread body of a request, so that its connection can serve the next one.

    gunicorn discards an unread body in steps of 1 KiB and copies its buffer in each step: 24 MiB take seconds in which
    the worker serves no other request. A body with more than `DRAIN_BYTES` closes the connection instead.
    """
    if not environ.get("CONTENT_LENGTH") and "HTTP_TRANSFER_ENCODING" not in environ:
        return
    if not _is_drained(environ["wsgi.input"]):
        request.force_close()
        linger(environ["gunicorn.socket"])


def _is_drained(body: Any) -> bool:
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
