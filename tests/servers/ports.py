"""Ports for servers that have to be told one before they listen."""

import itertools
import os
import re
import socket

FIRST, EACH = 16_000, 1_000
"""Below the range the kernel takes for connections and for port 0, and a range for each process of a test run: a port
that is given here is taken by nobody else between being found and being listened on."""

_worker = int(re.sub(r"\D", "", os.environ.get("PYTEST_XDIST_WORKER", "")) or 0) % 12
_next = itertools.cycle(range(FIRST + _worker * EACH, FIRST + (_worker + 1) * EACH))


def free_port() -> int:
    """A port of loopback nobody listens on; another one each time."""
    for port in itertools.islice(_next, EACH):
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
        return port
    raise RuntimeError("No port is free")
