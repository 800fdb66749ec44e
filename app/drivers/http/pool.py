"""Pooled connections whose calls can be cancelled before the response begins.

`requests` gives no access to a connection before the head of the response arrives, which may take 30 s.
"""

import contextlib
import socket
from collections.abc import Iterator
from contextvars import ContextVar
from typing import Any

from requests.adapters import HTTPAdapter
from urllib3 import HTTPConnectionPool, HTTPSConnectionPool
from urllib3.connection import HTTPConnection, HTTPSConnection

from app.concurrency.cancellation import Cancellation
from app.concurrency.sockets import peek

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


class _CancellableConnection(HTTPConnection):
    """A connection that the cancellation of the current call can end."""

    def connect(self) -> None:
        super().connect()
        self._show()

    def request(self, *args: Any, **kwargs: Any) -> None:
        self._show()
        super().request(*args, **kwargs)

    def _show(self) -> None:
        cancellation, connection = _running.get(), self.sock
        if cancellation is not None and connection is not None:
            cancellation.on_cancel(lambda: shut(connection))

    @property
    def is_connected(self) -> bool:
        """Return whether an idle connection can be reused: it is open and has no unread bytes.

        urllib3 polls, which costs a patched process one iteration of the event loop.
        """
        try:
            return self.sock is not None and peek(self.sock) is None
        except ValueError:
            return super().is_connected


class _ShownSecure(_CancellableConnection, HTTPSConnection):
    """A cancellable connection over TLS."""


class _Pool(HTTPConnectionPool):
    ConnectionCls = _CancellableConnection


class _SecurePool(HTTPSConnectionPool):
    ConnectionCls = _ShownSecure


class PoolAdapter(HTTPAdapter):
    """The adapter of `requests` for cancellable connections."""

    def init_poolmanager(self, *args: Any, **kwargs: Any) -> None:
        """Create the pools. See `HTTPAdapter`."""
        super().init_poolmanager(*args, **kwargs)
        self.poolmanager.pool_classes_by_scheme = {"http": _Pool, "https": _SecurePool}
