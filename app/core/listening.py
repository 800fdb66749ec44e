"""Listening sockets that can be closed without losing anybody.

Closing one resets whoever is connected but not yet accepted, and a proxy must not repeat what it had already sent there.
A connection that is refused it takes to the next node, whatever the request.
"""

import contextlib
import ctypes
import socket
import struct
import sys

# Linux' socket filter (Documentation/networking/filter.rst) sees a segment from its TCP header on.
SO_ATTACH_FILTER = 26
LOAD_BYTE, AND, JUMP_IF_EQUAL, RETURN = 0x30, 0x54, 0x15, 0x06
FLAGS_AT, SYN, SYN_OR_ACK = 13, 0x02, 0x12
WHOLE = 0xFFFFFFFF
DROP_OPENINGS = (
    (LOAD_BYTE, 0, 0, FLAGS_AT),
    (AND, 0, 0, SYN_OR_ACK),
    (JUMP_IF_EQUAL, 0, 1, SYN),
    (RETURN, 0, 0, 0),
    (RETURN, 0, 0, WHOLE),
)


def take_no_more(listener: socket.socket) -> None:
    """Let the system drop requests to connect from now on; who has begun to connect still gets in.

    The other side tries again after a second, finds the socket closed by then, and is refused. On other systems than
    Linux this does nothing.
    """
    if sys.platform != "linux":
        return
    steps = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *step) for step in DROP_OPENINGS))
    with contextlib.suppress(OSError):  # a jail may forbid it; then whoever is in the queue at the end is reset
        listener.setsockopt(
            socket.SOL_SOCKET, SO_ATTACH_FILTER, struct.pack("HP", len(DROP_OPENINGS), ctypes.addressof(steps))
        )
