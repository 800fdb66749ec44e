"""Functions that inspect a connection without consuming its data."""

import socket

from app.concurrency.threadpool import is_readable


def is_closed_by_peer(connection: socket.socket) -> bool:
    """Return whether the peer has closed the connection. Does not block.

    The result is False if unread data precedes the end, and for sockets of the plain `ssl` module, which cannot be
    inspected.
    """
    try:
        return peek(connection) == b""
    except ValueError:
        return False


def peek(connection: socket.socket) -> bytes | None:
    """Return the next byte without consuming it, None if there is no data yet, or b"" at the end of the connection.

    Raises:
        ValueError: the connection is a socket of the plain `ssl` module.
    """
    # gevent's socket ignores MSG_DONTWAIT and waits cooperatively. The socket inside it does not wait.
    inner: socket.socket = getattr(connection, "_sock", connection)
    try:
        # Python ignores MSG_DONTWAIT on sockets with a timeout and waits.
        if inner.fileno() >= 0 and inner.gettimeout() != 0 and not is_readable(inner.fileno()):
            return None
        return inner.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT)
    except (BlockingIOError, InterruptedError):
        return None
    except OSError:  # The connection is reset, or closed by this process.
        return b""
