"""Waiting until a socket has something to read, for long, and woken now and then; knows nothing of what comes.

A timeout of the socket's own would be a new timer for every read. In the web process this is, beside `threadpool`, the
one place that knows gevent.
"""

import contextlib
import select
from typing import Protocol

from gevent import get_hub

from app.core.threadpool import is_patched

_READ = 1


class Readiness(Protocol):
    """One socket's; whoever made it closes it, before the socket is closed."""

    def wait(self, within_s: float) -> bool:
        """Whether there is something, be it the end; False after about `within_s`, or when woken."""

    def wake(self) -> None:
        """End a wait from another greenlet. Where threads wait, they end by themselves."""

    def close(self) -> None:
        """Wait no more."""


def of(descriptor: int) -> Readiness:
    """The way to wait for a socket in this process."""
    return _OfGreenlets(descriptor) if is_patched() else _OfThreads(descriptor)


class _Woken(Exception):
    """Raised in a greenlet that waits."""


class _OfGreenlets:
    """One watcher for all waits; its waits have no timer, so somebody has to wake them."""

    def __init__(self, descriptor: int) -> None:
        self._hub = get_hub()
        self._watcher = self._hub.loop.io(descriptor, _READ)

    def wait(self, within_s: float) -> bool:
        """See `Readiness`."""
        try:
            self._hub.wait(self._watcher)
        except _Woken:
            return False
        return True

    def wake(self) -> None:
        """See `Readiness`."""
        self._hub.cancel_wait(self._watcher, _Woken())

    def close(self) -> None:
        """See `Readiness`."""
        self._watcher.close()


class _OfThreads:
    """The kernel's own wait."""

    def __init__(self, descriptor: int) -> None:
        self._poll = select.poll()
        self._poll.register(descriptor, select.POLLIN)

    def wait(self, within_s: float) -> bool:
        """See `Readiness`."""
        with contextlib.suppress(InterruptedError):
            return bool(self._poll.poll(within_s * 1000))
        return False

    def wake(self) -> None:
        """See `Readiness`."""

    def close(self) -> None:
        """See `Readiness`."""
