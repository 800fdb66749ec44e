"""Addresses of sockets in folders whose paths may be longer than a socket address (108 bytes)."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def short_address(folder: Path, name: str) -> Iterator[str]:
    """Provide an address of a socket in the folder, to which this process can bind or connect.

    Raises OSError if the folder does not exist.
    """
    descriptor = os.open(folder, os.O_PATH | os.O_CLOEXEC)
    try:
        yield f"/proc/self/fd/{descriptor}/{name}"
    finally:
        os.close(descriptor)
