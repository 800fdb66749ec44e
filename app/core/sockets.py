"""What can be known of a connection without reading from it; knows no protocol."""

import socket

from app.core.threadpool import has_news


def hung_up(connection: socket.socket) -> bool:
    """Whether the other side has closed its end; never waits.

    False where bytes wait to be read before that end, and where nobody can tell (the plain `ssl` module's sockets).
    """
    try:
        return peek(connection) == b""
    except ValueError:
        return False


def peek(connection: socket.socket) -> bytes | None:
    """The next byte, left where it is; None for nothing so far, b"" when no more will come.

    Raises:
        ValueError: the plain `ssl` module's sockets cannot tell.
    """
    # A patched socket would wait cooperatively, whatever the flag says; the one inside of it does not.
    plain: socket.socket = getattr(connection, "_sock", connection)
    try:
        # Python waits for a socket that has a timeout, whatever the flag says.
        if plain.fileno() >= 0 and plain.gettimeout() != 0 and not has_news(plain.fileno()):
            return None
        return plain.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT)
    except (BlockingIOError, InterruptedError):
        return None
    except OSError:  # reset, or closed on this side
        return b""
