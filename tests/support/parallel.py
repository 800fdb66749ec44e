"""Parallel calls."""

import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from tests.support.world import Answer

THREADS = 50
COMES_AGAIN_FOR_S = 60

T = TypeVar("T")


def together(calls: Sequence[Callable[[], T]]) -> list[T]:
    """Run each call in its own thread, release all at once, and return the results in order."""
    start = threading.Barrier(len(calls))

    def run(call: Callable[[], T]) -> T:
        start.wait(30)
        return call()

    with ThreadPoolExecutor(len(calls)) as pool:
        return list(pool.map(run, calls))


def at_once(count: int, call: Callable[[], T]) -> list[T]:
    """Run the same call several times in parallel."""
    return together([call] * count)


def patiently(send: Callable[[], Answer]) -> Callable[[], Answer]:
    """Repeat a request while the database is busy, as `Retry-After` of the 503 asks."""

    def run() -> Answer:
        deadline = time.monotonic() + COMES_AGAIN_FOR_S
        while True:
            answer = send()
            if answer.status != 503 or "Retry-After" not in answer.headers or time.monotonic() > deadline:
                return answer
            time.sleep(0.1)

    return run


def statuses(answers: Sequence[Answer]) -> dict[int, int]:
    """Count the responses by status."""
    return dict(Counter(answer.status for answer in answers))
