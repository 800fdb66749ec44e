"""Pooled connections whose calls can be cancelled before the response begins, and whose responses can be inspected.

`requests` gives no access to a connection before the head of the response arrives, which may take 30 s. urllib3 gives
none to the socket of a response that ends with its connection.
"""

import contextlib
import socket
from collections.abc import Iterator
from contextvars import ContextVar
from http.client import HTTPResponse
from typing import Any

from requests.adapters import HTTPAdapter
from urllib3 import HTTPConnectionPool, HTTPSConnectionPool, PoolManager
from urllib3.connection import HTTPConnection, HTTPSConnection

from app.concurrency.cancellation import Cancellation

_running: ContextVar[Cancellation | None] = ContextVar("running", default=None)


@contextlib.contextmanager
def cancellable(cancellation: Cancellation) -> Iterator[None]:
    """Make a cancellation end the call inside the block until the head of its response has arrived."""
    token = _running.set(cancellation)
    try:
        yield
    finally:
        _running.reset(token)
        cancellation.on_cancel(None)


def shut(connection: Any) -> None:
    """Shut down both directions of a socket, which wakes its readers."""
    with contextlib.suppress(OSError):
        connection.shutdown(socket.SHUT_RDWR)


class CancellableConnection(HTTPConnection):
    """A connection that the cancellation of the current call can end."""

    received: HTTPResponse | None = None
    """The newest response, as the standard library reads it."""
    received_from: socket.socket | None = None
    """The socket of the newest response."""

    def response_class(self, sock: socket.socket, *args: Any, **kwargs: Any) -> HTTPResponse:  # type: ignore[override]
        """Return the reader of a response. `http.client` calls this for each response."""
        self.received, self.received_from = HTTPResponse(sock, *args, **kwargs), sock
        return self.received

    def connect(self) -> None:
        """Connect, and let the cancellation of the current call end the connection."""
        super().connect()
        self._show()

    def request(self, *args: Any, **kwargs: Any) -> None:
        """Send a request, and let the cancellation of the current call end the connection."""
        self._show()
        super().request(*args, **kwargs)

    def _show(self) -> None:
        cancellation, connection = _running.get(), self.sock
        if cancellation is not None and connection is not None:
            cancellation.on_cancel(lambda: shut(connection))


class _ShownSecure(CancellableConnection, HTTPSConnection):
    """A cancellable connection over TLS."""


class _Pool(HTTPConnectionPool):
    ConnectionCls = CancellableConnection


class _SecurePool(HTTPSConnectionPool):
    ConnectionCls = _ShownSecure


def use_cancellable_connections(manager: PoolManager) -> None:
    """Make a pool manager open connections of this module."""
    manager.pool_classes_by_scheme = {"http": _Pool, "https": _SecurePool}


class PoolAdapter(HTTPAdapter):
    """The adapter of `requests` for cancellable connections."""

    def init_poolmanager(self, *args: Any, **kwargs: Any) -> None:
        """Create the pools. See `HTTPAdapter`."""
        super().init_poolmanager(*args, **kwargs)
        use_cancellable_connections(self.poolmanager)
