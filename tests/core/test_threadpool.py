"""Work done off gevent's hub. The patched process is a real one: patching this one would patch the other tests too."""

import subprocess
import sys
import textwrap
import threading
from pathlib import Path

import gevent
import pytest

from app.core.errors import Unavailable
from app.core.threadpool import Pool, offload

ROOT = Path(__file__).resolve().parents[2]


class TestOffload:
    def test_a_process_without_patched_threads_calls_directly(self) -> None:
        assert offload(threading.get_ident) == threading.get_ident()

    def test_in_a_patched_process_other_greenlets_go_on_meanwhile(self) -> None:
        script = """
            from gevent import monkey
            monkey.patch_all()
            import gevent
            from gevent.monkey import get_original
            from app.core.threadpool import offload
            sleep = get_original("time", "sleep")
            steps = []
            ticker = gevent.spawn(lambda: [(gevent.sleep(0.01), steps.append(1)) for _ in range(10)])
            offload(sleep, 0.5)
            print(len(steps))
        """
        done = subprocess.run(
            [sys.executable, "-c", textwrap.dedent(script)], cwd=ROOT, capture_output=True, text=True, timeout=60
        )
        assert done.stdout == "10\n", done.stderr


class TestPool:
    def test_the_answer_of_the_call_comes_back(self) -> None:
        assert Pool(1, 1).run(divmod, 7, 2) == (3, 1)

    def test_the_call_runs_in_another_thread(self) -> None:
        assert Pool(1, 1).run(threading.get_ident) != threading.get_ident()

    def test_what_the_call_raises_is_raised_here_and_printed_nowhere(self, capfd: pytest.CaptureFixture[str]) -> None:
        with pytest.raises(ZeroDivisionError):
            Pool(1, 1).run(divmod, 1, 0)
        assert capfd.readouterr().err == ""

    def test_when_the_queue_is_full_the_caller_is_told_to_come_again_in_a_second(self) -> None:
        pool, held = Pool(1, 1), threading.Event()
        running = [gevent.spawn(pool.run, held.wait, 10) for _ in range(2)]
        gevent.sleep(0.05)

        with pytest.raises(Unavailable) as refused:
            pool.run(divmod, 7, 2)

        held.set()
        gevent.joinall(running, raise_error=True)
        assert refused.value.headers == {"Retry-After": "1"}

    def test_after_the_queue_has_emptied_it_takes_work_again(self) -> None:
        pool = Pool(1, 0)
        assert [pool.run(divmod, 7, 2) for _ in range(3)] == [(3, 1)] * 3
