"""Concurrent execution of independent tasks in a bounded number of threads, and limits of concurrent use.

The threads are greenlets if the standard library is patched.
"""

import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import copy_context
from functools import partial
from itertools import islice
from typing import Generic, TypeVar

DEFAULT_LIMIT = 6
MAX_LIMIT = 16

T = TypeVar("T")
R = TypeVar("R")


def run_with_concurrency(tasks: Iterable[Callable[[], T]], limit: int = DEFAULT_LIMIT) -> list[T]:
    """Run every task, at most `limit` (1 to 16) at once. Return the results in the order of the tasks (spec 4.13).

    Each task runs in a copy of the caller's context. After a failure no further task starts. The exception is raised
    when the running tasks have ended.
    """
    if not 1 <= limit <= MAX_LIMIT:
        raise ValueError(f"limit must be 1 to {MAX_LIMIT}")
    waiting = list(tasks)
    run = _TaskRun(waiting)
    workers = min(limit, len(waiting))
    if workers <= 1:
        run.work()
    else:
        with ThreadPoolExecutor(workers, thread_name_prefix="task") as pool:
            for _ in range(workers):
                pool.submit(copy_context().run, run.work)
    if run.failure is not None:
        raise run.failure
    return [run.results[position] for position in range(len(waiting))]


def map_in_order(task: Callable[[T], R], items: Iterable[T], limit: int = DEFAULT_LIMIT) -> Iterator[R]:
    """Yield the result of `task` for every item, in order. At most four results per thread are in memory."""
    waiting = iter(items)
    while batch := list(islice(waiting, limit * 4)):
        yield from run_with_concurrency([partial(task, item) for item in batch], limit)


class _TaskRun(Generic[T]):
    """The tasks of one call. Its threads take them one by one."""

    def __init__(self, tasks: list[Callable[[], T]]) -> None:
        self._waiting = iter(enumerate(tasks))
        self._lock = threading.Lock()
        self.results: dict[int, T] = {}
        self.failure: BaseException | None = None

    def work(self) -> None:
        while (taken := self._take()) is not None:
            position, task = taken
            try:
                self.results[position] = task()
            except BaseException as failure:  # The caller raises it again in its own thread.
                with self._lock:
                    self.failure = self.failure or failure

    def _take(self) -> tuple[int, Callable[[], T]] | None:
        with self._lock:
            return None if self.failure is not None else next(self._waiting, None)


class ConcurrencyLimiter:
    """A limiter of concurrent uses: at most `per_key` per key and `total` in total."""

    def __init__(self, *, per_key: int, total: int) -> None:
        self._per_key, self._total = per_key, total
        self._uses: Counter[str] = Counter()
        self._released = threading.Condition()

    def acquire(self, key: str, *, wait_s: float = 0) -> bool:
        """Count a use of the key. Return False if a limit stays reached for `wait_s`."""
        with self._released:
            is_free = self._released.wait_for(lambda: self._is_free(key), wait_s)
            if is_free:
                self._uses[key] += 1
            return is_free

    def release(self, key: str) -> None:
        """End a use of the key."""
        with self._released:
            self._uses[key] -= 1
            if not self._uses[key]:
                del self._uses[key]
            self._released.notify_all()

    @contextmanager
    def slot(self, key: str, *, wait_s: float = 0) -> Iterator[bool]:
        """Count a use of the key for the block. The value is False if a limit stays reached for `wait_s`."""
        is_free = self.acquire(key, wait_s=wait_s)
        try:
            yield is_free
        finally:
            if is_free:
                self.release(key)

    def _is_free(self, key: str) -> bool:
        return self._uses.total() < self._total and self._uses[key] < self._per_key
