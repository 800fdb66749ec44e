"""Tests of supervised processes: restart after a failure, and stop with a drain."""

import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from supervisor import Process, Supervisor

WAITS = "import time; print(1, flush=True); time.sleep(60)"
DRAINS = (
    "import signal, sys, time; signal.signal(signal.SIGTERM, lambda *_: (time.sleep(0.5), print(2), sys.exit()));"
    "print(1, flush=True); time.sleep(60)"
)
HAS_CHILD = f"import subprocess, sys; subprocess.Popen([sys.executable, '-c', {WAITS!r}]).wait()"


@pytest.fixture
def supervisor(tmp_path: Path) -> Iterator[Supervisor]:
    supervisor = Supervisor(tmp_path, restart_after_s=0)
    yield supervisor
    supervisor.stop()


def python(home: Path, code: str, name: str = "one") -> Process:
    return Process(name, [sys.executable, "-c", code], {}, home)


def log_of(home: Path, name: str = "one") -> str:
    return (home / "logs" / f"{name}.log").read_text()


def await_lines(home: Path, number: int) -> None:
    deadline = time.monotonic() + 120
    while len(log_of(home).splitlines()) < number:
        assert time.monotonic() < deadline, log_of(home)
        time.sleep(0.02)


class TestRestartDead:
    def test_dead_process_is_restarted(self, supervisor: Supervisor, tmp_path: Path) -> None:
        process = python(tmp_path, WAITS)
        supervisor.start(process)
        before = (tmp_path / "pids" / "one").read_text()
        await_lines(tmp_path, 1)
        psutil.Process(int(before)).send_signal(signal.SIGKILL)
        assert supervisor.wait_until(lambda: (tmp_path / "pids" / "one").read_text() != before, 20)
        await_lines(tmp_path, 2)

    def test_wait_for_a_false_condition_times_out(self, supervisor: Supervisor) -> None:
        assert not supervisor.wait_until(lambda: False, 0.2)


class TestStop:
    def test_stop_waits_for_draining_processes(self, supervisor: Supervisor, tmp_path: Path) -> None:
        supervisor.start(python(tmp_path, DRAINS))
        await_lines(tmp_path, 1)
        supervisor.stop()
        assert log_of(tmp_path) == "1\n2\n"
        assert list((tmp_path / "pids").iterdir()) == []

    def test_stopped_process_is_not_restarted(self, supervisor: Supervisor, tmp_path: Path) -> None:
        one, other = python(tmp_path, WAITS), python(tmp_path, WAITS, "other")
        supervisor.start(one)
        supervisor.start(other)
        supervisor.stop([one])
        supervisor.restart_dead()
        assert (one.is_alive, other.is_alive) == (False, True)

    def test_stop_ends_child_processes(self, supervisor: Supervisor, tmp_path: Path) -> None:
        process = python(tmp_path, HAS_CHILD)
        supervisor.start(process)
        await_lines(tmp_path, 1)
        [child] = psutil.Process(int((tmp_path / "pids" / "one").read_text())).children()
        supervisor.stop()
        assert psutil.wait_procs([child], timeout=10)[1] == []
