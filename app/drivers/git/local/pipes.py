"""Pipes to and from the `git` program."""

import os
import select
from contextlib import ExitStack
from typing import IO

from app.drivers.errors import UpstreamTimeout

READ_BYTES = 1 << 18


def pipe(stack: ExitStack) -> tuple[IO[bytes], IO[bytes]]:
    """Open a pipe without buffers, closed with the stack. Return its read end and its write end."""
    reading, writing = os.pipe()
    return stack.enter_context(os.fdopen(reading, "rb", 0)), stack.enter_context(os.fdopen(writing, "wb", 0))


def write_all(descriptor: int, data: bytes) -> None:
    """Write all bytes to a pipe. A write to a full pipe writes a part of them or none."""
    poller = select.poll()
    poller.register(descriptor, select.POLLOUT)
    remaining = memoryview(data)
    while remaining:
        try:
            remaining = remaining[os.write(descriptor, remaining) :]
        except BlockingIOError:
            poller.poll()


def wait_readable(poller: "select.poll", timeout_s: float) -> list[tuple[int, int]]:
    """Wait until one of the registered pipes can be read.

    Raises:
        UpstreamTimeout: no pipe became readable within `timeout_s`.
    """
    ready = poller.poll(timeout_s * 1000)
    if not ready:
        raise UpstreamTimeout("Git did not respond in time")
    return ready
