"""A timer that checks many waits from one thread. One timer per wait would cost more than the waits."""

import threading
import time
from typing import Protocol

import structlog

log = structlog.get_logger(__name__)

TICK_S = 0.1
BATCH_SIZE = 50
"""The number of targets that are ticked before other greenlets run. A tick may have to end a stream."""


class TimerTarget(Protocol):
    """An object with a time limit that a timer checks."""

    def tick(self, now_s: float) -> None:
        """Check the time limit. `now_s` is the monotonic clock. Must not block."""


class PeriodicTimer:
    """A timer that ticks all registered targets.

    Its thread runs while a target is registered. The thread is a greenlet if the standard library is patched.
    """

    def __init__(self, every_s: float = TICK_S) -> None:
        self._every_s = every_s
        self._targets: set[TimerTarget] = set()
        self._lock = threading.Lock()
        self._runs = False

    def register(self, target: TimerTarget) -> None:
        with self._lock:
            self._targets.add(target)
            if not self._runs:
                self._runs = True
                threading.Thread(target=self._run, name="timer", daemon=True).start()

    def unregister(self, target: TimerTarget) -> bool:
        """Remove a target. Return whether it was registered."""
        with self._lock:
            was_registered = target in self._targets
            self._targets.discard(target)
        return was_registered

    def __len__(self) -> int:
        """Return the number of registered targets."""
        return len(self._targets)

    def _run(self) -> None:
        while True:
            time.sleep(self._every_s)
            with self._lock:
                if not self._targets:
                    self._runs = False
                    return
                targets = list(self._targets)
            for number, target in enumerate(targets, 1):
                if target in self._targets:  # Another greenlet may have removed the target since the copy was made.
                    self._tick(target)
                if number % BATCH_SIZE == 0:
                    time.sleep(0)

    @staticmethod
    def _tick(target: TimerTarget) -> None:
        try:
            target.tick(time.monotonic())
        except Exception as error:  # The failure of one target must not stop the timer of the others.
            log.warning("timer.target_failed", error=type(error).__name__)


ticker = PeriodicTimer()
"""The timer of this process."""
