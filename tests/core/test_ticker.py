"""One thread that looks after many waits."""

import threading
import time

from app.core.ticker import Ticker


class One:
    def __init__(self, failure: Exception | None = None) -> None:
        self.failure, self.ticked, self.times = failure, threading.Event(), 0

    def tick(self, now_s: float) -> None:
        assert abs(now_s - time.monotonic()) < 1
        self.times += 1
        self.ticked.set()
        if self.failure:
            raise self.failure


def threads() -> int:
    return sum(thread.name == "ticker" for thread in threading.enumerate())


class TestTicker:
    def test_everybody_watched_is_ticked_by_one_thread(self) -> None:
        ticker, many, before = Ticker(0.01), [One() for _ in range(20)], threads()
        for one in many:
            ticker.watch(one)
        assert all(one.ticked.wait(2) for one in many)
        assert threads() <= before + 1
        for one in many:
            ticker.forget(one)

    def test_who_is_forgotten_is_ticked_no_more_and_the_thread_ends(self) -> None:
        ticker, one, before = Ticker(0.01), One(), threads()
        ticker.watch(one)
        assert one.ticked.wait(2)
        ticker.forget(one)
        ticker.forget(one)
        time.sleep(0.1)
        times = one.times
        time.sleep(0.1)
        assert one.times == times
        assert threads() <= before

    def test_who_comes_after_the_thread_ended_is_ticked(self) -> None:
        ticker = Ticker(0.01)
        for one in (One(), One()):
            ticker.watch(one)
            assert one.ticked.wait(2)
            ticker.forget(one)
            time.sleep(0.1)

    def test_failure_of_one_is_not_the_others(self) -> None:
        ticker, bad, good = Ticker(0.01), One(ValueError("x")), One()
        ticker.watch(bad)
        ticker.watch(good)
        assert good.ticked.wait(2)
        good.ticked.clear()
        assert good.ticked.wait(2)
        ticker.forget(bad)
        ticker.forget(good)
