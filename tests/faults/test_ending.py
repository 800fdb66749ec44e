"""SIGTERM while people write and read streams: who is connected is answered, and both processes end in time.

`tests/serving/test_drain.py` holds how single connections end, `tests/faults/test_cluster_restart.py` that a restart of
several nodes fails no request. Here one node ends for good under load; run by `make faults`.
"""

import os
import re
import signal
import threading
import time
from pathlib import Path

import pytest

from tests.doubles.ai import say
from tests.faults.ai_plant import AiLife, AiPlant, Heard
from tests.faults.life import Told
from tests.faults.playing import counted, until
from tests.faults.small_plant import working

ENDS_WITHIN_S = 30
WRITERS, UNDER_LOAD_S = 4, 2.0


def test_ending_node_finishes_what_it_has_begun(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with AiPlant(tmp_path / "plant") as plant:
        assert isinstance(plant, AiPlant)
        plant.double.script, plant.double.fault = [say("a", "b", "c")], "endless"
        life, stop = AiLife(plant), threading.Event()
        told: list[Told] = []
        heard: list[Heard] = []
        people = life.people(WRITERS)

        def write(number: int) -> None:
            while not stop.is_set():
                told.extend(life.writes(people[number]))
                if told[-1].status == 0:
                    time.sleep(0.2)

        threads = [threading.Thread(target=write, args=(number,), daemon=True) for number in range(WRITERS)]
        threads += [threading.Thread(target=lambda: heard.append(life.question()[0]), daemon=True)]
        for thread in threads:
            thread.start()
        until(lambda: life.running() == 1, "the stream has not begun")
        time.sleep(UNDER_LOAD_S)
        until(lambda: "job_started" in plant.told(), "the worker does not work")
        before, started = len(told), time.monotonic()
        try:
            os.kill(plant.worker.pid, signal.SIGTERM)
            os.kill(plant.service.process.pid, signal.SIGTERM)
            ended = [plant.worker.wait(ENDS_WITHIN_S), plant.service.process.wait(ENDS_WITHIN_S)]
        finally:
            stop.set()
        took_s = time.monotonic() - started
        for thread in threads:
            thread.join(60)
        assert ended == [0, 0]
        assert before > 0
        assert took_s < ENDS_WITHIN_S
        # Nobody is connected to and then left without an answer: those without one were refused at the door.
        assert {one.what.rpartition("(")[2] for one in told if one.status == 0} <= {"MaxRetryError)"}
        assert heard[0].kinds[-1] == "error"
        assert re.fullmatch(r"ab(x )+", heard[0].text)
        plant.double.fault = None
        plant.service.start()
        with working(plant.service, plant.log):
            life.others()
            assert life.check() == []
        with capsys.disabled():
            print(f"\nended in {took_s:.1f} s under load: {counted(told)}, {len(told)} writes", end="")
