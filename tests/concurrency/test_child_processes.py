"""Tests of child processes in plain and patched processes: exit code, timeout and inherited descriptors."""

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from gevent import monkey

from app.concurrency import child_processes
from app.concurrency.child_processes import ChildProcess, ExitStatusUnknown

ENVIRONMENT = {"PATH": os.environ.get("PATH", os.defpath)}
ROOT = Path(__file__).parents[2]
# Starts processes in greenlets together with the Popen of gevent, which collects all children of the process.
PATCHED = """
from gevent import monkey
monkey.patch_all()
import gevent, os, subprocess, time
from app.concurrency import child_processes

def one(code):
    null = os.open(os.devnull, os.O_RDWR)
    arguments = ["sh", "-c", f"exit {code}"]
    environment = {"PATH": os.environ["PATH"]}
    process = child_processes.start(arguments, environment=environment, stdin=null, stdout=null, stderr=null)
    os.close(null)
    if code % 3 == 0:
        subprocess.run(["true"], stdout=subprocess.PIPE)
    if code % 2:
        time.sleep(0.01)
    return process.wait(60)

assert one(7) == 7
tasks = [gevent.spawn(one, code) for code in range(30)]
gevent.joinall(tasks)
print([task.get() for task in tasks])
"""
# A native thread has an event loop without child watchers. No child may be started there.
NATIVE_THREAD = """
from gevent import monkey
monkey.patch_all()
import gevent, os
from app.concurrency import child_processes

def start():
    null = os.open(os.devnull, os.O_RDWR)
    return child_processes.start(["true"], environment={"PATH": os.environ["PATH"]}, stdin=null, stdout=null, stderr=null)

def start_in_thread():
    try:
        start()
    except RuntimeError as error:
        return str(error)

print(gevent.get_hub().threadpool.apply(start_in_thread))
try:
    print(monkey.get_original("os", "waitpid")(-1, os.WNOHANG))
except ChildProcessError:
    print("no child")
print(start().wait(60))
"""


def start(script: str, output: int | None = None) -> ChildProcess:
    null = os.open(os.devnull, os.O_RDWR)
    try:
        streams = {"stdin": null, "stdout": output if output is not None else null, "stderr": null}
        return child_processes.start(["sh", "-c", script], environment=ENVIRONMENT, **streams)
    finally:
        os.close(null)


def test_exit_code_and_signal_are_returned_repeatedly() -> None:
    exited, killed = start("exit 3"), start("kill -9 $$")
    assert [exited.wait(60), exited.poll(), exited.wait()] == [3, 3, 3]
    assert killed.wait(60) == -9


@pytest.mark.skipif(bool(monkey.is_module_patched("subprocess")), reason="the event loop collects the children")
def test_exit_status_collected_by_another_caller_is_unknown() -> None:
    process = start("exit 0")
    os.waitpid(process.pid, 0)
    for ask in (process.poll, process.wait):
        with pytest.raises(ExitStatusUnknown):
            ask()
    assert not process.is_running()
    process.end()


def test_process_group_ends_after_timeout() -> None:
    reading, writing = os.pipe()
    process = start("trap '' TERM; sleep 300 & sleep 300", writing)
    os.close(writing)
    with pytest.raises(TimeoutError):
        process.wait(0.05)
    assert process.poll() is None
    process.end()
    assert process.poll() == -9
    assert os.read(reading, 1) == b""  # All processes with the write end have ended.
    os.close(reading)


def test_process_inherits_only_its_streams() -> None:
    reading, writing = os.pipe()
    with Path(__file__).open("rb"):
        process = start("ls /proc/self/fd | wc -l", writing)
        assert process.wait(60) == 0
    os.close(writing)
    assert int(os.read(reading, 100)) == 4  # Three streams and the folder that `ls` reads.
    os.close(reading)


def test_missing_program_raises() -> None:
    with pytest.raises(FileNotFoundError):
        child_processes.start(["no-such-program"], environment=ENVIRONMENT, stdin=0, stdout=1, stderr=2)


def test_parallel_waits_return_one_exit_code() -> None:
    process, codes = start("exit 5"), []
    threads = [threading.Thread(target=lambda: codes.append(process.wait(60))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert codes == [5] * 4


def test_system_without_process_descriptors_polls(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "pidfd_open", raising=False)
    assert start("exit 6").wait(60) == 6
    process = start("sleep 300")
    with pytest.raises(TimeoutError):
        process.wait(0.05)
    process.end()


def run_patched(program: str) -> str:
    environment = ENVIRONMENT | {"PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120, env=environment)
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout.strip()


def test_patched_process_collects_every_child() -> None:
    assert run_patched(PATCHED) == str(list(range(30)))


def test_native_thread_of_a_patched_process_is_refused_without_a_child() -> None:
    message = "Start child processes in the main thread, not in the thread pool"
    assert run_patched(NATIVE_THREAD).splitlines() == [message, "no child", "0"]
