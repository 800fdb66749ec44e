"""A thread pool for work that would block gevent's event loop, and time limits of greenlets."""

import os
import select
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import ParamSpec, TypeVar, cast

from gevent import Timeout, monkey
from gevent.threadpool import ThreadPool
from gevent.util import wrap_errors

from app.core.errors import ServiceUnavailable

P = ParamSpec("P")
T = TypeVar("T")

# With this number a slow image does not delay sign-ins. More threads would only compete for the same cores.
MAX_THREADS = max(4, os.cpu_count() or 1)
# Hashes keep a core busy and each thread retains the 19 MiB of its last one. Half of the cores remain for requests.
HASH_THREADS = max(1, (os.cpu_count() or 1) // 2)
# A hundred password hashes of 50 ms wait 5 s in a process with one thread for them. Further calls receive 503.
MAX_WAITING = 100


class BoundedThreadPool:
    """A bounded pool of native threads for one process."""

    def __init__(self, threads: int = MAX_THREADS, waiting: int = MAX_WAITING) -> None:
        self._threads = ThreadPool(threads)
        self._capacity = threads + waiting
        self._running = 0

    def run(self, call: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run the call in a thread while other greenlets run.

        Raises:
            ServiceUnavailable: the queue is full.
        """
        if self._running >= self._capacity:
            raise ServiceUnavailable("The server is busy. Try again shortly", retry_after_s=1)
        self._running += 1
        try:
            # gevent prints the traceback of an exception in a thread even if it is caught. `wrap_errors` prevents that.
            outcome = self._threads.spawn(wrap_errors((Exception,), call), *args, **kwargs).get()
        finally:
            self._running -= 1
        if isinstance(outcome, Exception):
            raise outcome
        return cast("T", outcome)


def is_patched() -> bool:
    """Return whether socket waits yield to other greenlets: in the web process, not in the worker and in commands."""
    return bool(monkey.is_module_patched("socket"))


def is_readable(descriptor: int) -> bool:
    """Return whether the descriptor is readable.

    The call polls the kernel directly and does not run gevent's event loop.
    """
    poll = cast("Callable[[], select.poll]", monkey.get_original("select", "poll"))()
    poll.register(descriptor, select.POLLIN)
    return bool(poll.poll(0))


@contextmanager
def time_limit(seconds: float, error: Exception) -> Iterator[None]:
    """Raise `error` in this greenlet if the block still waits after `seconds`. Has no effect in plain threads."""
    if not is_patched():
        yield
        return
    with Timeout(seconds, error):
        yield


def switch() -> None:
    """Let other greenlets run. Reading from a patched socket with available data does not switch."""
    time.sleep(0)


@cache
def _pool() -> BoundedThreadPool:
    return BoundedThreadPool()


@cache
def _hash_pool() -> BoundedThreadPool:
    return BoundedThreadPool(HASH_THREADS)


def offload_hash(call: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Run the hash of a password like `offload`, on at most `HASH_THREADS` threads.

    Raises:
        ServiceUnavailable: the queue is full (503 with `Retry-After: 1`).
    """
    if not monkey.is_module_patched("threading"):
        return call(*args, **kwargs)
    return _hash_pool().run(call, *args, **kwargs)


def offload(call: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Run CPU-bound or blocking work outside the event loop. In a process without patched threads, call it directly.

    The call must not use the database session, the request or other objects that greenlets share.

    Raises:
        ServiceUnavailable: the queue is full (503 with `Retry-After: 1`).
    """
    if not monkey.is_module_patched("threading"):
        return call(*args, **kwargs)
    return _pool().run(call, *args, **kwargs)
