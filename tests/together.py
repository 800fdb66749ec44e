"""Runs requests at the same time."""

import threading
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

from tests.world import Answer

THREADS = 50


def together(requests: Sequence[Callable[[], Answer]]) -> list[Answer]:
    """Send each from a thread of its own, all released at once; the answers in order."""
    start = threading.Barrier(len(requests))

    def run(send: Callable[[], Answer]) -> Answer:
        start.wait(10)
        return send()

    with ThreadPoolExecutor(len(requests)) as pool:
        return list(pool.map(run, requests))


def statuses(answers: Sequence[Answer]) -> dict[int, int]:
    """How often each status was answered."""
    return dict(Counter(answer.status for answer in answers))
