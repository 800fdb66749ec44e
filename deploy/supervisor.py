"""Supervisor of named processes: it restarts processes that die and stops them with their drain time.

Each process leads a separate process group, so a signal of the terminal reaches only the supervisor. One file contains
its id, another its output.
"""

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

KILL_AFTER_S = 28.0
"""The server drains for 25 s. All processes must exit within 30 s."""

STEP_S = 0.1


def say(text: str) -> None:
    """Print a message."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


@dataclass
class Process:
    """A supervised process. `ends_with` is the signal that makes it finish its work and exit."""

    name: str
    command: Sequence[str]
    environment: Mapping[str, str] = field(repr=False)
    folder: Path
    ends_with: signal.Signals = signal.SIGTERM
    running: subprocess.Popen[bytes] | None = field(default=None, repr=False)
    ended_at_s: float | None = None

    @property
    def is_alive(self) -> bool:
        """Return whether the process runs."""
        return self.running is not None and self.running.poll() is None


class Supervisor:
    """A supervisor of processes. It writes `pids/<name>` and `logs/<name>.log` to `home`."""

    def __init__(self, home: Path, *, restart_after_s: float) -> None:
        self._home, self._restart_after_s = home, restart_after_s
        self._processes: list[Process] = []
        home.mkdir(mode=0o700, parents=True, exist_ok=True)
        for folder in ("pids", "logs"):
            (home / folder).mkdir(mode=0o700, exist_ok=True)

    def start(self, process: Process) -> None:
        """Start a process and supervise it."""
        if process not in self._processes:
            self._processes.append(process)
        with (self._home / "logs" / f"{process.name}.log").open("ab") as log:
            process.running = subprocess.Popen(
                process.command,
                cwd=process.folder,
                env=dict(process.environment),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        (self._home / "pids" / process.name).write_text(str(process.running.pid))
        process.ended_at_s = None

    def restart_dead(self) -> None:
        """Restart processes that died `restart_after_s` ago. Call this several times per second."""
        now_s = time.monotonic()
        for process in self._processes:
            if process.is_alive:
                continue
            if process.ended_at_s is None:
                process.ended_at_s = now_s
                say(f"{process.name} ended with status {process.running.returncode if process.running else None}")
            if now_s - process.ended_at_s >= self._restart_after_s:
                self.start(process)
                say(f"{process.name} was started again")

    def wait_until(self, is_so: Callable[[], bool], within_s: float) -> bool:
        """Supervise until `is_so` returns true. Return False after the timeout."""
        deadline_s = time.monotonic() + within_s
        while not is_so():
            if time.monotonic() > deadline_s:
                return False
            self.restart_dead()
            time.sleep(STEP_S)
        return True

    def stop(self, processes: Iterable[Process] | None = None) -> float:
        """Stop some or all processes in parallel and return the duration in seconds. They are not restarted."""
        ending = list(self._processes if processes is None else processes)
        self._processes = [process for process in self._processes if process not in ending]
        started_s = time.monotonic()
        for process in ending:
            _signal(process, process.ends_with)
        while any(process.is_alive for process in ending) and time.monotonic() < started_s + KILL_AFTER_S:
            time.sleep(STEP_S)
            self.restart_dead()
        for process in ending:
            if process.is_alive:
                say(f"{process.name} did not end in time and was killed")
            _kill_group(process)
            (self._home / "pids" / process.name).unlink(missing_ok=True)
        return time.monotonic() - started_s


def _signal(process: Process, number: signal.Signals) -> None:
    if process.running is not None and process.is_alive:
        process.running.send_signal(number)


def _kill_group(process: Process) -> None:
    """Kill the remaining processes of the group, with their children."""
    if process.running is not None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.running.pid, signal.SIGKILL)
        process.running.wait()
