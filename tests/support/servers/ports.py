"""Ports for servers that need a port before they listen."""

import itertools
import os
import re
import socket

FIRST, EACH = 16_000, 1_000
"""A range of ports per test process, below the ranges that the kernel uses for connections and for port 0. No other
process takes a port between the check and the listen call.
"""

_number = os.environ.get("GALLEY_TEST_PROCESS") or re.sub(r"\D", "", os.environ.get("PYTEST_XDIST_WORKER", "")) or 0
_worker = int(_number) % 15
_next = itertools.cycle(range(FIRST + _worker * EACH, FIRST + (_worker + 1) * EACH))


def free_port() -> int:
    """Return another free loopback port with each call."""
    for port in itertools.islice(_next, EACH):
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
        return port
    raise RuntimeError("No port is free")
