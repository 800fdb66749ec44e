"""Looks after many waits from one thread, a few times a second: a timer for each costs more than the waits themselves.

Knows nothing of what is waited for.
"""

import threading
import time
from typing import Protocol

import structlog

log = structlog.get_logger(__name__)

TICK_S = 0.1
AT_ONCE = 50
"""So many are ticked before others get a turn: each may have a whole stream to end."""


class Watched(Protocol):
    """Somebody whose wait has an end."""

    def tick(self, now_s: float) -> None:
        """Look whether the wait is over by the monotonic clock; must not wait itself."""


class Ticker:
    """Ticks everybody watched; its thread, a greenlet where the standard library is patched, lives while there is one."""

    def __init__(self, every_s: float = TICK_S) -> None:
        self._every_s = every_s
        self._watched: set[Watched] = set()
        self._lock = threading.Lock()
        self._runs = False

    def watch(self, one: Watched) -> None:
        """Tick `one` from now on."""
        with self._lock:
            self._watched.add(one)
            if not self._runs:
                self._runs = True
                threading.Thread(target=self._run, name="ticker", daemon=True).start()

    def forget(self, one: Watched) -> bool:
        """Tick `one` no more; whether it was watched."""
        with self._lock:
            watched = one in self._watched
            self._watched.discard(one)
        return watched

    def __len__(self) -> int:
        """How many are watched."""
        return len(self._watched)

    def _run(self) -> None:
        while True:
            time.sleep(self._every_s)
            with self._lock:
                if not self._watched:
                    self._runs = False
                    return
                watched = list(self._watched)
            for number, one in enumerate(watched, 1):
                if one in self._watched:  # still: others ran meanwhile
                    self._tick(one)
                if number % AT_ONCE == 0:
                    time.sleep(0)

    @staticmethod
    def _tick(one: Watched) -> None:
        try:
            one.tick(time.monotonic())
        except Exception as error:  # whoever fails must not end the watch over the others
            log.warning("ticker.failed", error=type(error).__name__)


ticker = Ticker()
"""The process's own."""
