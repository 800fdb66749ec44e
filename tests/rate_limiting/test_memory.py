"""Tests of sliding windows in memory."""

import threading
import time

from app.core.rates import Rate
from app.rate_limiting.counter import MemoryWindows


class TestMemoryWindows:
    def test_cleanup_deletes_empty_windows(self) -> None:
        windows = MemoryWindows(cleanup_interval_calls=10)
        for number in range(9):
            windows.take(Rate(3, 1), f"key-{number}")
        time.sleep(1.1)
        windows.take(Rate(3, 1), "last")
        assert len(windows) == 1
        assert windows.wait_s(Rate(1, 1), "last") == 1

    def test_take_in_parallel_never_exceeds_the_rate(self) -> None:
        windows, waits = MemoryWindows(), []

        def take() -> None:
            waits.extend(windows.take(Rate(50, 60), "key") for _ in range(20))

        threads = [threading.Thread(target=take) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert waits.count(0) == 50
