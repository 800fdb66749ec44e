"""Long waits for data of a socket that another greenlet can end.

A socket timeout would create a timer for every read. Only this module and `threadpool` depend on gevent.
"""

import contextlib
import select
from typing import Protocol

from gevent import get_hub

from app.concurrency.threadpool import is_patched

_READ = 1


class SocketWaiter(Protocol):
    """A waiter for one socket. Its creator closes it before the socket."""

    def wait(self, within_s: float) -> bool:
        """Wait until the socket is readable or at its end. Return False after about `within_s` or after `wake`."""

    def wake(self) -> None:
        """End a wait from another greenlet. Waits of threads end by their timeout only."""

    def close(self) -> None:
        """Release the resources of the waiter."""


def for_socket(descriptor: int) -> SocketWaiter:
    """Return the waiter for a socket in this process."""
    return _GreenletWaiter(descriptor) if is_patched() else _ThreadWaiter(descriptor)


class _WaitCancelled(Exception):
    """An exception that `wake` raises in the waiting greenlet."""


class _GreenletWaiter:
    """A waiter with one watcher for all waits. Its waits have no timer and end only with data or `wake`."""

    def __init__(self, descriptor: int) -> None:
        self._hub = get_hub()
        self._watcher = self._hub.loop.io(descriptor, _READ)

    def wait(self, within_s: float) -> bool:
        try:
            self._hub.wait(self._watcher)
        except _WaitCancelled:
            return False
        return True

    def wake(self) -> None:
        self._hub.cancel_wait(self._watcher, _WaitCancelled())

    def close(self) -> None:
        self._watcher.close()


class _ThreadWaiter:
    """A waiter that polls the kernel with a timeout."""

    def __init__(self, descriptor: int) -> None:
        self._poll = select.poll()
        self._poll.register(descriptor, select.POLLIN)

    def wait(self, within_s: float) -> bool:
        with contextlib.suppress(InterruptedError):
            return bool(self._poll.poll(within_s * 1000))
        return False

    def wake(self) -> None:
        """See `SocketWaiter`."""

    def close(self) -> None:
        """See `SocketWaiter`."""
