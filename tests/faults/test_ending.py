"""Test of SIGTERM under load. Connected clients receive a response, and both processes end in time.

`tests/serving/test_drain.py` tests single connections, `tests/faults/test_cluster_restart.py` a restart of several nodes.
This test stops one node under load. Run it with `make faults`.
"""

import os
import re
import signal
import threading
import time
from pathlib import Path

import pytest

from tests.faults.ai_deployment import AiDeployment, AiWorkload, ModelReply
from tests.faults.small_deployment import running_worker
from tests.faults.steps import count_statuses, until
from tests.faults.workload import Reply
from tests.support.doubles.ai import say

ENDS_WITHIN_S = 30
WRITERS, UNDER_LOAD_S = 4, 2.0


def test_sigterm_under_load_completes_started_requests(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with AiDeployment(tmp_path / "deployment") as deployment:
        assert isinstance(deployment, AiDeployment)
        deployment.double.script, deployment.double.fault = [say("a", "b", "c")], "endless"
        workload, stop = AiWorkload(deployment), threading.Event()
        replies: list[Reply] = []
        reply: list[ModelReply] = []
        people = workload.create_users(WRITERS)

        def write(number: int) -> None:
            while not stop.is_set():
                replies.extend(workload.writes(people[number]))
                if replies[-1].status == 0:
                    time.sleep(0.2)

        threads = [threading.Thread(target=write, args=(number,), daemon=True) for number in range(WRITERS)]
        threads += [threading.Thread(target=lambda: reply.append(workload.send_prompt()[0]), daemon=True)]
        for thread in threads:
            thread.start()
        until(lambda: workload.running() == 1, "the stream has not begun")
        time.sleep(UNDER_LOAD_S)
        until(lambda: "job.started" in deployment.log_text(), "the worker does not work")
        before, started = len(replies), time.monotonic()
        try:
            os.kill(deployment.worker.pid, signal.SIGTERM)
            os.kill(deployment.service.process.pid, signal.SIGTERM)
            ended = [deployment.worker.wait(ENDS_WITHIN_S), deployment.service.process.wait(ENDS_WITHIN_S)]
        finally:
            stop.set()
        took_s = time.monotonic() - started
        for thread in threads:
            thread.join(60)
        assert ended == [0, 0]
        assert before > 0
        assert took_s < ENDS_WITHIN_S
        # Requests without a response were refused at the socket. Each writer can have one connection that was
        # established but not accepted when the socket was closed.
        assert sum(one.status == 0 and not one.what.endswith("(MaxRetryError)") for one in replies) <= WRITERS
        assert reply[0].kinds[-1] == "error"
        assert re.fullmatch(r"ab(x )+", reply[0].text)
        deployment.double.fault = None
        deployment.service.start()
        with running_worker(deployment.service, deployment.log):
            workload.check_other_users()
            assert workload.check() == []
        with capsys.disabled():
            print(f"\nended in {took_s:.1f} s under load: {count_statuses(replies)}, {len(replies)} writes", end="")
