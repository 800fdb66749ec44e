"""Tests of the thread that checks many waits."""

import threading
import time

from app.concurrency.timer import PeriodicTimer
from tests.support.pace import within


class CountingTarget:
    def __init__(self, failure: Exception | None = None) -> None:
        self.failure, self.ticked, self.times = failure, threading.Event(), 0

    def tick(self, now_s: float) -> None:
        assert abs(now_s - time.monotonic()) < within(1)
        self.times += 1
        self.ticked.set()
        if self.failure:
            raise self.failure


def threads() -> int:
    return sum(thread.name == "ticker" for thread in threading.enumerate())


class TestPeriodicTimer:
    def test_ticker_calls_all_targets_in_one_thread(self) -> None:
        ticker, many, before = PeriodicTimer(0.01), [CountingTarget() for _ in range(20)], threads()
        for one in many:
            ticker.register(one)
        assert all(one.ticked.wait(60) for one in many)
        assert threads() <= before + 1
        for one in many:
            ticker.unregister(one)

    def test_ticker_ends_its_thread_after_the_last_target(self) -> None:
        ticker, one, before = PeriodicTimer(0.01), CountingTarget(), threads()
        ticker.register(one)
        assert one.ticked.wait(60)
        ticker.unregister(one)
        ticker.unregister(one)
        time.sleep(0.1)
        times = one.times
        time.sleep(0.1)
        assert one.times == times
        assert threads() <= before

    def test_ticker_starts_again_for_a_new_target(self) -> None:
        ticker = PeriodicTimer(0.01)
        for one in (CountingTarget(), CountingTarget()):
            ticker.register(one)
            assert one.ticked.wait(60)
            ticker.unregister(one)
            time.sleep(0.1)

    def test_ticker_with_a_failing_target_calls_the_other_targets(self) -> None:
        ticker, bad, good = PeriodicTimer(0.01), CountingTarget(ValueError("x")), CountingTarget()
        ticker.register(bad)
        ticker.register(good)
        assert good.ticked.wait(60)
        good.ticked.clear()
        assert good.ticked.wait(60)
        ticker.unregister(bad)
        ticker.unregister(good)
