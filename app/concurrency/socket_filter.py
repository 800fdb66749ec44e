"""A socket filter that lets a listening socket close without connection resets.

Closing the socket resets connections that are established but not accepted. A proxy must not repeat a request that it
already sent on such a connection. It sends every request of a refused connection to the next node.
"""

import contextlib
import ctypes
import socket
import struct
import sys

# The socket filter of Linux (Documentation/networking/filter.rst) reads a segment from the start of its TCP header.
SO_ATTACH_FILTER = 26
LOAD_BYTE, AND, JUMP_IF_EQUAL, RETURN = 0x30, 0x54, 0x15, 0x06
FLAGS_OFFSET, SYN, SYN_OR_ACK = 13, 0x02, 0x12
ACCEPT_ALL = 0xFFFFFFFF
DROP_SYN_FILTER = (
    (LOAD_BYTE, 0, 0, FLAGS_OFFSET),
    (AND, 0, 0, SYN_OR_ACK),
    (JUMP_IF_EQUAL, 0, 1, SYN),
    (RETURN, 0, 0, 0),
    (RETURN, 0, 0, ACCEPT_ALL),
)


def reject_new_connections(listener: socket.socket) -> None:
    """Let the kernel drop new connection requests. Connections in progress are still established.

    The client sends the connection request again after a second. The socket is closed then, and the client is refused.
    The function has no effect on systems other than Linux.
    """
    if sys.platform != "linux":
        return
    steps = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *step) for step in DROP_SYN_FILTER))
    with contextlib.suppress(OSError):  # A container may forbid the filter. Queued connections are then reset.
        listener.setsockopt(
            socket.SOL_SOCKET, SO_ATTACH_FILTER, struct.pack("HP", len(DROP_SYN_FILTER), ctypes.addressof(steps))
        )
