"""Runs calls at the same time."""

import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from tests.world import Answer

THREADS = 50
COMES_AGAIN_FOR_S = 60

T = TypeVar("T")


def together(calls: Sequence[Callable[[], T]]) -> list[T]:
    """Make each call from a thread of its own, all released at once; what they gave, in order."""
    start = threading.Barrier(len(calls))

    def run(call: Callable[[], T]) -> T:
        start.wait(30)
        return call()

    with ThreadPoolExecutor(len(calls)) as pool:
        return list(pool.map(run, calls))


def at_once(count: int, call: Callable[[], T]) -> list[T]:
    """The same call that many times."""
    return together([call] * count)


def patiently(send: Callable[[], Answer]) -> Callable[[], Answer]:
    """Send again what a busy database had no time for, as the answer asks (503 with `Retry-After`)."""

    def run() -> Answer:
        deadline = time.monotonic() + COMES_AGAIN_FOR_S
        while True:
            answer = send()
            if answer.status != 503 or "Retry-After" not in answer.headers or time.monotonic() > deadline:
                return answer
            time.sleep(0.1)

    return run


def statuses(answers: Sequence[Answer]) -> dict[int, int]:
    """How often each status was answered."""
    return dict(Counter(answer.status for answer in answers))
