"""Tests of calls outside of the gevent hub. A subprocess is patched, because patches of this process affect other tests."""

import subprocess
import sys
import textwrap
import threading
from pathlib import Path

import gevent
import pytest
from gevent import monkey

from app.concurrency.threadpool import BoundedThreadPool, offload
from app.core.errors import ServiceUnavailable

ROOT = Path(__file__).resolve().parents[2]


class TestOffload:
    @pytest.mark.skipif(monkey.is_module_patched("threading"), reason="the process is patched by gevent")
    def test_offload_in_an_unpatched_process_calls_directly(self) -> None:
        assert offload(threading.get_ident) == threading.get_ident()

    def test_offload_in_a_patched_process_lets_other_greenlets_run(self) -> None:
        script = """
            from gevent import monkey
            monkey.patch_all()
            import gevent
            from gevent.monkey import get_original
            from app.concurrency.threadpool import offload
            sleep = get_original("time", "sleep")
            steps = []

            def wait_for_steps():
                while len(steps) < 10:
                    sleep(0.01)

            gevent.spawn(lambda: [(gevent.sleep(0.01), steps.append(1)) for _ in range(10)])
            offload(wait_for_steps)
            print(len(steps))
        """
        done = subprocess.run(
            [sys.executable, "-c", textwrap.dedent(script)], cwd=ROOT, capture_output=True, text=True, timeout=60
        )
        assert done.stdout == "10\n", done.stderr

    def test_offload_hash_runs_on_half_of_the_cores(self) -> None:
        script = """
            from gevent import monkey
            monkey.patch_all()
            import gevent
            from gevent.monkey import get_original
            from app.concurrency.threadpool import HASH_THREADS, offload_hash
            sleep, running, peaks = get_original("time", "sleep"), [], []

            def hash_slowly():
                running.append(1)
                peaks.append(len(running))
                sleep(0.05)
                running.pop()

            gevent.joinall([gevent.spawn(offload_hash, hash_slowly) for _ in range(3 * HASH_THREADS)])
            print(max(peaks) <= HASH_THREADS, len(peaks) == 3 * HASH_THREADS)
        """
        done = subprocess.run(
            [sys.executable, "-c", textwrap.dedent(script)], cwd=ROOT, capture_output=True, text=True, timeout=60
        )
        assert done.stdout == "True True\n", done.stderr


class TestPool:
    def test_pool_returns_the_result(self) -> None:
        assert BoundedThreadPool(1, 1).run(divmod, 7, 2) == (3, 1)

    def test_pool_calls_in_another_thread(self) -> None:
        assert BoundedThreadPool(1, 1).run(threading.get_ident) != threading.get_ident()

    def test_pool_raises_the_error_and_prints_nothing(self, capfd: pytest.CaptureFixture[str]) -> None:
        with pytest.raises(ZeroDivisionError):
            BoundedThreadPool(1, 1).run(divmod, 1, 0)
        assert capfd.readouterr().err == ""

    def test_pool_with_a_full_queue_raises_with_retry_after(self) -> None:
        pool, held = BoundedThreadPool(1, 1), threading.Event()
        running = [gevent.spawn(pool.run, held.wait, 10) for _ in range(2)]
        gevent.sleep(0.05)

        with pytest.raises(ServiceUnavailable) as refused:
            pool.run(divmod, 7, 2)

        held.set()
        gevent.joinall(running, raise_error=True)
        assert refused.value.headers == {"Retry-After": "1"}

    def test_pool_accepts_work_after_the_queue_is_empty(self) -> None:
        pool = BoundedThreadPool(1, 0)
        assert [pool.run(divmod, 7, 2) for _ in range(3)] == [(3, 1)] * 3
