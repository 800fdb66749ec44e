"""Kept connections whose calls can be ended from outside before their answer begins; knows no service.

`requests` shows nothing of a connection until the head of the answer is there, which may take half a minute.
"""

import contextlib
import socket
from collections.abc import Iterator
from contextvars import ContextVar
from typing import Any

from requests.adapters import HTTPAdapter
from urllib3 import HTTPConnectionPool, HTTPSConnectionPool
from urllib3.connection import HTTPConnection, HTTPSConnection

from app.core.cancellation import Cancellation
from app.core.sockets import peek

_running: ContextVar[Cancellation | None] = ContextVar("running", default=None)


@contextlib.contextmanager
def under(cancellation: Cancellation) -> Iterator[None]:
    """Until its head is there, the call made inside ends when it is cancelled."""
    token = _running.set(cancellation)
    try:
        yield
    finally:
        _running.reset(token)
        cancellation.ends_with(None)


def shut(connection: Any) -> None:
    """End both directions of a socket; whoever reads from it wakes up."""
    with contextlib.suppress(OSError):
        connection.shutdown(socket.SHUT_RDWR)


class _Shown(HTTPConnection):
    """A connection that the running call's cancellation can end."""

    def connect(self) -> None:
        super().connect()
        self._show()

    def request(self, *args: Any, **kwargs: Any) -> None:
        self._show()
        super().request(*args, **kwargs)

    def _show(self) -> None:
        cancellation, connection = _running.get(), self.sock
        if cancellation is not None and connection is not None:
            cancellation.ends_with(lambda: shut(connection))

    @property
    def is_connected(self) -> bool:
        """Whether a kept connection can be used again: it is open, and silent.

        urllib3 polls, which costs a patched process a turn of the whole loop.
        """
        try:
            return self.sock is not None and peek(self.sock) is None
        except ValueError:
            return super().is_connected


class _ShownSecure(_Shown, HTTPSConnection):
    """The same over TLS."""


class _Pool(HTTPConnectionPool):
    ConnectionCls = _Shown


class _SecurePool(HTTPSConnectionPool):
    ConnectionCls = _ShownSecure


class PoolAdapter(HTTPAdapter):
    """Serves `requests` with such connections."""

    def init_poolmanager(self, *args: Any, **kwargs: Any) -> None:
        """See `HTTPAdapter`."""
        super().init_poolmanager(*args, **kwargs)
        self.poolmanager.pool_classes_by_scheme = {"http": _Pool, "https": _SecurePool}
