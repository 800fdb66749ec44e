"""Tests of concurrent tasks with a limit, and of shares of slots."""

import subprocess
import sys
import threading
import time
from collections.abc import Callable
from datetime import timedelta

import pytest

from app.concurrency.bounded import ConcurrencyLimiter, map_in_order, run_with_concurrency
from app.core import clock


class Gauge:
    """A counter of running tasks and of their maximum."""

    def __init__(self) -> None:
        self.running = self.most = self.started = 0
        self.lock = threading.Lock()

    def task(self, value: int, *, wait_s: float = 0.01, until: int = 0) -> Callable[[], int]:
        """Return a task that lasts `wait_s` and waits until `until` tasks have run at once."""

        def run() -> int:
            with self.lock:
                self.running += 1
                self.started += 1
                self.most = max(self.most, self.running)
            patience = time.monotonic() + 10
            time.sleep(wait_s)
            while self.most < until and time.monotonic() < patience:
                time.sleep(wait_s)
            with self.lock:
                self.running -= 1
            return value

        return run


def fail() -> int:
    raise KeyError("fatal")


class TestRunWithConcurrency:
    def test_results_are_in_the_order_of_the_tasks(self) -> None:
        gauge = Gauge()
        tasks = [gauge.task(number, wait_s=0.02 if number % 2 else 0) for number in range(20)]
        assert run_with_concurrency(tasks, 5) == list(range(20))

    @pytest.mark.parametrize("limit", [1, 3, 16])
    def test_concurrency_reaches_and_does_not_exceed_the_limit(self, limit: int) -> None:
        gauge = Gauge()
        run_with_concurrency([gauge.task(number, until=limit) for number in range(40)], limit)
        assert gauge.most == limit

    def test_default_limit_is_six(self) -> None:
        gauge = Gauge()
        run_with_concurrency(gauge.task(number, until=6) for number in range(30))
        assert gauge.most == 6

    def test_empty_task_list_returns_an_empty_list(self) -> None:
        assert run_with_concurrency([]) == []

    @pytest.mark.parametrize("limit", [0, -1, 17])
    def test_limit_outside_1_to_16_raises(self, limit: int) -> None:
        with pytest.raises(ValueError, match="1 to 16"):
            run_with_concurrency([], limit)

    @pytest.mark.parametrize("limit", [1, 4])
    def test_failure_prevents_further_tasks(self, limit: int) -> None:
        gauge = Gauge()
        tasks = [gauge.task(0, wait_s=0.05), fail, *(gauge.task(number) for number in range(50))]
        with pytest.raises(KeyError, match="fatal"):
            run_with_concurrency(tasks, limit)
        assert gauge.started <= limit + 1

    def test_failure_waits_for_running_tasks(self) -> None:
        gauge = Gauge()
        with pytest.raises(KeyError):
            run_with_concurrency([gauge.task(1, wait_s=0.1), fail], 2)
        assert (gauge.started, gauge.running) == (1, 0)

    def test_tasks_see_the_callers_context(self) -> None:
        with clock.shifted(timedelta(days=400)):
            years = run_with_concurrency([lambda: clock.now().year] * 3, 3)
            assert years == [clock.now().year] * 3

    def test_tasks_are_greenlets_under_a_patched_standard_library(self) -> None:
        program = """
from gevent import monkey; monkey.patch_all()
from threading import Barrier
from app.concurrency.bounded import run_with_concurrency
barrier = Barrier(16)  # No task ends before all run.
assert run_with_concurrency([lambda n=n: (barrier.wait(60), n)[1] for n in range(16)], 16) == list(range(16))
"""
        done = subprocess.run([sys.executable, "-W", "ignore", "-c", program], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr


class TestMapInOrder:
    def test_map_yields_in_order_and_reads_items_lazily(self) -> None:
        taken = []

        def items() -> object:
            for number in range(1000):
                taken.append(number)
                yield number

        results = map_in_order(lambda number: number * 2, items(), 2)
        assert [next(results) for _ in range(5)] == [0, 2, 4, 6, 8]
        assert len(taken) == 8


class TestConcurrencyLimiter:
    def test_key_with_a_full_share_leaves_slots_to_others(self) -> None:
        limiter = ConcurrencyLimiter(per_key=1, total=2)
        with limiter.slot("one") as first, limiter.slot("one") as again, limiter.slot("two") as other:
            assert (first, again, other) == (True, False, True)
            assert not limiter.acquire("three")
        assert limiter.acquire("three")

    def test_waiting_use_begins_when_a_slot_of_its_share_is_released(self) -> None:
        limiter, results = ConcurrencyLimiter(per_key=1, total=2), list[bool]()
        waiting = threading.Thread(target=lambda: results.append(limiter.acquire("one", wait_s=600)))
        with limiter.slot("one"):
            waiting.start()
            with limiter.slot("two"):
                pass
            assert results == []
        waiting.join()
        assert results == [True]
