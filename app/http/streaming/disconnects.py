"""Detection of disconnected clients without reading from or writing to the connection."""

import socket
from collections.abc import Callable

from flask import Request

from app.concurrency.threadpool import is_readable
from app.concurrency.timer import ticker

CHECK_INTERVAL_S = 0.5
SOCKET = "gunicorn.socket"


def on_disconnect(request: Request, callback: Callable[[], None]) -> Callable[[], None]:
    """Call `callback` once, within a second after the client disconnects. Returns a function that ends the watch.

    Without gunicorn's socket in the environment there is no watch; the next failed write ends the request.
    """
    connection = request.environ.get(SOCKET)
    if connection is None:
        return lambda: None
    watch = _Watch(connection, callback)
    ticker.register(watch)
    return watch.end


class _Watch:
    """A periodic check of one connection."""

    def __init__(self, connection: socket.socket, callback: Callable[[], None]) -> None:
        self._connection, self._callback = connection, callback
        self._next_check_s = 0.0

    def tick(self, now_s: float) -> None:
        """Check the connection. Implements `app.concurrency.timer.TimerTarget`."""
        if now_s < self._next_check_s:
            return
        self._next_check_s = now_s + CHECK_INTERVAL_S
        if is_closed_by_peer(self._connection):
            self.end()
            self._callback()

    def end(self) -> None:
        ticker.unregister(self)


def is_closed_by_peer(connection: socket.socket) -> bool:
    """Return whether the peer has closed the connection. Does not block.

    The result is False if unread data precedes the end, and for connections with TLS, which cannot be inspected.
    """
    if connection.fileno() < 0:
        return True  # this process closed the connection
    if not is_readable(connection.fileno()):
        return False
    try:
        return connection.recv(1, socket.MSG_PEEK) == b""
    except ValueError:  # a connection with TLS
        return False
    except OSError:  # the connection is reset
        return True
