"""Short-lived child processes: started by `posix_spawn`, awaited without blocking other greenlets.

A fork copies the page tables of the process, which takes milliseconds in a process of 150 MB. `posix_spawn` does not.
In a patched process, gevent's child watcher reports the end of a child; otherwise the process waits for it directly.
"""

import os
import select
import signal
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path

from gevent import get_hub, monkey
from gevent.event import Event

# Python ignores these signals. A child inherits ignored signals.
RESET_SIGNALS = (signal.SIGPIPE, signal.SIGXFSZ)
STANDARD_ERROR = 2
POLL_S = 0.01
WATCH_INTERVAL_S = 0.5
TERMINATION_S = 1.0


class ExitStatusUnknown(ChildProcessError):
    """The process has ended, but another part of this process collected its exit status."""


class ChildProcess:
    """A started program in a separate session. `pid` is also the id of its process group."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self._lock = threading.Lock()
        self._status: int | None = None
        self._is_status_lost = False
        self._ended: Event | None = None
        if _is_patched():
            self._watch()

    def poll(self) -> int | None:
        """Return the exit code, the negative number of the signal that ended the process, or None while it runs.

        Raises:
            ExitStatusUnknown: the process has ended, but its exit status is unknown.
        """
        if self.is_running():
            return None
        if self._status is None:
            raise ExitStatusUnknown(f"The exit status of process {self.pid} is unknown")
        return os.waitstatus_to_exitcode(self._status)

    def is_running(self) -> bool:
        if self._ended is None:
            with self._lock:
                self._reap()
        return self._status is None and not self._is_status_lost

    def wait(self, timeout_s: float | None = None) -> int:
        """Wait for the end of the process and return its exit code as `poll` does.

        Raises:
            TimeoutError: the process runs longer than `timeout_s`.
            ExitStatusUnknown: the process has ended, but its exit status is unknown.
        """
        if self._ended is not None:
            self._ended.wait(timeout_s)
        else:
            self._wait_in_thread(timeout_s)
        code = self.poll()
        if code is None:
            raise TimeoutError("The process did not end in time")
        return code

    def wait_watched(self, timeout_s: float, watch: Callable[[], None]) -> int:
        """Wait as `wait` does, and call `watch` twice a second and at the end."""
        until_s = time.monotonic() + timeout_s
        while self.is_running() and time.monotonic() < until_s:
            with suppress(TimeoutError, ExitStatusUnknown):
                self.wait(WATCH_INTERVAL_S)
            watch()
        return self.wait(0)

    def end(self) -> None:
        """Terminate the process group if the process still runs: SIGTERM, and SIGKILL after a second.

        Reap the process.
        """
        for number, timeout_s in ((signal.SIGTERM, TERMINATION_S), (signal.SIGKILL, None)):
            if not self.is_running():
                return
            self._signal(number)
            with suppress(TimeoutError, ExitStatusUnknown):
                self.wait(timeout_s)

    def discard(self) -> None:
        """End the process from a finalizer, which can run within any greenlet and must not switch to another one.

        In a patched process the event loop reaps it later.
        """
        if self._ended is None:
            self.end()
        elif self.is_running():
            self._signal(signal.SIGKILL)

    def _watch(self) -> None:
        """Start the watcher. The loop cannot have collected the child yet, because no other greenlet has run."""
        self._ended = ended = Event()
        watcher = get_hub().loop.child(self.pid)

        def on_end() -> None:
            self._status = watcher.rstatus
            watcher.stop()
            watcher.close()
            ended.set()

        watcher.start(on_end)

    def _reap(self) -> None:
        if self._status is None and not self._is_status_lost:
            try:
                pid, status = os.waitpid(self.pid, os.WNOHANG)
            except ChildProcessError:
                self._is_status_lost = True
            else:
                self._status = status if pid else None

    def _wait_in_thread(self, timeout_s: float | None) -> None:
        until_s = None if timeout_s is None else time.monotonic() + timeout_s
        descriptor = _descriptor_of(self.pid)
        try:
            while self.is_running():
                remaining_s = None if until_s is None else until_s - time.monotonic()
                if remaining_s is not None and remaining_s <= 0:
                    return
                _sleep(descriptor, remaining_s)
        finally:
            if descriptor is not None:
                os.close(descriptor)

    def _signal(self, number: signal.Signals) -> None:
        with suppress(ProcessLookupError):
            os.killpg(self.pid, number)


def start(
    arguments: list[str], *, environment: Mapping[str, str], stdin: int, stdout: int, stderr: int
) -> ChildProcess:
    """Start a program, found on the `PATH` of this process, with these descriptors as its standard streams.

    It inherits no other descriptor: Python opens descriptors as not inheritable, and those that this process inherited
    are closed.

    Raises:
        OSError: the program does not exist or cannot be started.
        RuntimeError: the caller is a native thread of a process with patched modules. Only the event loop of the main
            thread collects children.
    """
    if _is_patched():
        loop = get_hub().loop
        if not loop.default:
            raise RuntimeError("Start child processes in the main thread, not in the thread pool")
        loop.install_sigchld()  # The loop would miss the end of a child that is faster than its watcher.
    streams = [(os.POSIX_SPAWN_DUP2, descriptor, number) for number, descriptor in enumerate((stdin, stdout, stderr))]
    surplus = [(os.POSIX_SPAWN_CLOSE, descriptor) for descriptor in _inheritable(os.getpid())]
    return ChildProcess(
        os.posix_spawnp(
            arguments[0],
            arguments,
            environment,
            file_actions=[*streams, *surplus],
            setsid=True,
            setsigdef=RESET_SIGNALS,
        )
    )


def _is_patched() -> bool:
    return bool(monkey.is_module_patched("subprocess"))


@cache
def _inheritable(_pid: int) -> tuple[int, ...]:
    """Return the descriptors above the standard streams that a child of this process would inherit."""
    inheritable = []
    for descriptor in (int(file.name) for file in Path("/dev/fd").iterdir()):
        with suppress(OSError):  # The listing contains its own descriptor, which is closed.
            if descriptor > STANDARD_ERROR and os.get_inheritable(descriptor):
                inheritable.append(descriptor)
    return tuple(inheritable)


def _descriptor_of(pid: int) -> int | None:
    """Return a descriptor that becomes readable when the process ends, or None if the system does not support it."""
    try:
        return os.pidfd_open(pid)
    except (AttributeError, OSError):
        return None


def _sleep(descriptor: int | None, at_most_s: float | None) -> None:
    if descriptor is None:
        time.sleep(POLL_S if at_most_s is None else min(POLL_S, at_most_s))
        return
    poller = select.poll()
    poller.register(descriptor, select.POLLIN)
    poller.poll(None if at_most_s is None else at_most_s * 1000)
