"""Work that would stall every other request, done off gevent's hub, and limits on waiting; all that knows gevent."""

import os
import select
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import ParamSpec, TypeVar, cast

from gevent import Timeout, monkey
from gevent.threadpool import ThreadPool
from gevent.util import wrap_errors

from app.core.errors import Unavailable

P = ParamSpec("P")
T = TypeVar("T")

# Enough that a slow image does not hold up sign-ins; more would only take turns on the same cores.
THREADS = max(4, os.cpu_count() or 1)
# A hundred password hashes of 50 ms wait 2.5 s on two cores; whoever comes later is told to come again.
WAITING = 100


class Pool:
    """A bounded pool of native threads for one process."""

    def __init__(self, threads: int = THREADS, waiting: int = WAITING) -> None:
        self._threads = ThreadPool(threads)
        self._room = threads + waiting
        self._taken = 0

    def run(self, call: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run the call in a thread while other greenlets go on.

        Raises:
            Unavailable: too many calls wait already.
        """
        if self._taken >= self._room:
            raise Unavailable("Too much to do right now; try again in a moment", retry_after_s=1)
        self._taken += 1
        try:
            # Wrapped, because gevent prints the traceback of what a thread raises even where it is caught.
            outcome = self._threads.spawn(wrap_errors((Exception,), call), *args, **kwargs).get()
        finally:
            self._taken -= 1
        if isinstance(outcome, Exception):
            raise outcome
        return cast("T", outcome)


def is_patched() -> bool:
    """Whether waiting for a socket lets other greenlets go on: in the web process, not in the worker and in commands."""
    return bool(monkey.is_module_patched("socket"))


def has_news(descriptor: int) -> bool:
    """Whether something has arrived there: asked of the kernel at once, without a turn of gevent's loop."""
    poll = cast("Callable[[], select.poll]", monkey.get_original("select", "poll"))()
    poll.register(descriptor, select.POLLIN)
    return bool(poll.poll(0))


@contextmanager
def time_limit(seconds: float, error: Exception) -> Iterator[None]:
    """Raise `error` in this greenlet when the code inside still waits after `seconds`; plain threads are not limited."""
    if not is_patched():
        yield
        return
    with Timeout(seconds, error):
        yield


@cache
def _pool() -> Pool:
    return Pool()


def offload(call: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Run CPU-bound or blocking work beside the hub; in a process without patched threads, simply call it.

    The call must not touch the database session, the request or anything else that greenlets share.

    Raises:
        Unavailable: the queue is full (503 with `Retry-After: 1`).
    """
    if not monkey.is_module_patched("threading"):
        return call(*args, **kwargs)
    return _pool().run(call, *args, **kwargs)
