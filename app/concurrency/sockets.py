"""Functions that inspect a connection without consuming its data."""

import socket

from app.concurrency.threadpool import is_readable


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
