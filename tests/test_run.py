"""Tests of the division of the suite into parts, and of the commands that run them."""

import os
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests import run
from tests.support.pace import within

SAMPLE = """
import os
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from gevent import monkey

def test_process_has_the_environment_of_the_part():
    assert os.environ["SAMPLE"] == "1"

def test_process_is_patched():
    assert monkey.is_module_patched("socket")
"""
KILLED = """
import os, signal

def test_kill():
    os.kill(os.getpid(), signal.SIGKILL)
"""
HANGING = """
import time

def test_wait():
    time.sleep(120)
"""


def modules(parts: list[run.Part], store: str) -> list[str]:
    return sorted(path for part in parts if f"--store={store}" in part.arguments for path in part.paths)


class TestParts:
    def test_parts_of_postgresql_have_every_module_once(self) -> None:
        every = [
            str(module.relative_to(run.ROOT))
            for module in run.TESTS.rglob("test_*.py")
            if module.relative_to(run.TESTS).parts[0] not in run.LONG_RUNS
        ]
        assert modules(list(run.parts(False)), "postgresql") == sorted(every)

    def test_parts_of_sqlite_repeat_only_the_drivers(self) -> None:
        paths = modules(list(run.parts(False)), "sqlite")
        repeated = {path for path in paths if paths.count(path) > 1}
        assert repeated
        assert all(path.removeprefix("tests/").startswith(run.BOTH) for path in repeated)

    def test_parts_of_sqlite_have_every_module(self) -> None:
        parts = list(run.parts(False))
        assert {*modules(parts, "sqlite")} == {*modules(parts, "postgresql")}

    def test_adapters_of_git_hosts_run_patched_once(self) -> None:
        hosts = tuple(f"tests/{folder}/" for folder in run.PATCHED)
        adapters = [
            (path, part.is_patched)
            for part in run.parts(False)
            if "--store=sqlite" in part.arguments
            for path in part.paths
            if path.startswith(hosts)
        ]
        assert len({path for path, _ in adapters}) == len(adapters)
        assert all(is_patched for _, is_patched in adapters)

    def test_web_half_is_patched_on_sqlite(self) -> None:
        patched = {part.name.split()[0] for part in run.parts(False) if part.is_patched}
        assert patched == {"web", "contract"}


class TestResults:
    def test_results_are_counted_if_warnings_follow_the_summary(self) -> None:
        output = "FAILED tests/a.py::test_b\n= 1 failed, 634 passed, 2 errors in 223.96s (0:03:43) =\nResourceWarning: unclosed"
        assert run.results(output) == {"passed": 634, "failed": 3}

    def test_output_without_summary_has_no_results(self) -> None:
        assert not run.results("ended after 1500 s")


def command_of(path: Path, *, is_patched: bool) -> list[str]:
    """Return the command of a part that consists of a module outside of the suite."""
    return run.Part("sample", (str(path),), is_patched, ("-c", os.devnull)).command


@pytest.mark.slow
class TestProcesses:
    @pytest.mark.parametrize(("is_patched", "numbers"), [(True, {"passed": 2}), (False, {"passed": 1, "failed": 1})])
    def test_part_runs_in_a_process_of_its_kind(
        self, tmp_path: Path, is_patched: bool, numbers: dict[str, int]
    ) -> None:
        (tmp_path / "test_sample.py").write_text(SAMPLE)
        command = command_of(tmp_path / "test_sample.py", is_patched=is_patched)
        status, output = run.run_command(command, os.environ | {"SAMPLE": "1"})
        assert status == numbers.get("failed", 0)
        assert run.results(output) == numbers

    def test_killed_process_fails(self, tmp_path: Path) -> None:
        (tmp_path / "test_killed.py").write_text(KILLED)
        command = command_of(tmp_path / "test_killed.py", is_patched=False)
        status, output = run.run_command(command, os.environ)
        assert (status, output.endswith("ended by signal 9\n")) == (-9, True)

    @pytest.mark.parametrize("is_patched", [True, False])
    def test_hanging_process_is_ended_and_prints_its_stacks(self, tmp_path: Path, is_patched: bool) -> None:
        (tmp_path / "test_hanging.py").write_text(HANGING)
        command = command_of(tmp_path / "test_hanging.py", is_patched=is_patched)
        timeout_s = within(8)
        status, output = run.run_command(command, os.environ, timeout_s=timeout_s)
        assert status < 0
        assert "Fatal Python error: Aborted" in output
        assert output.endswith(f"ended after {timeout_s:.0f} s\n")


class TestPartQueue:
    def test_few_parts_on_postgresql_run_at_the_same_time(self) -> None:
        parts = list(run.parts(quick=False))
        queue, running, order = run.PartQueue(parts), list[run.Part](), list[run.Part]()
        for _ in parts:
            if len(running) == run.POSTGRESQL_PARTS:
                queue.finish(running.pop(0))
            part = queue.take(False)
            assert part is not None
            running.append(part)
            order.append(part)
        assert queue.take(False) is None
        assert Counter(order) == Counter(parts)

    def test_part_on_postgresql_waits_for_the_end_of_another(self) -> None:
        parts = [part for part in run.parts(quick=False) if part.uses_postgresql]
        queue = run.PartQueue(parts)
        running = [queue.take(False) for _ in range(run.POSTGRESQL_PARTS)]
        with ThreadPoolExecutor(1) as pool:
            waiting = pool.submit(queue.take, False)
            with pytest.raises(TimeoutError):
                waiting.result(0.2)
            assert running[0] is not None
            queue.finish(running[0])
            assert waiting.result(30) in parts

    def test_preferred_kind_is_first(self) -> None:
        queue = run.PartQueue(run.parts(quick=False))
        assert [part.is_waiting for part in (queue.take(True), queue.take(False)) if part] == [True, False]
