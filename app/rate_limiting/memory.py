"""Sliding windows in the memory of this process."""

import math
import threading
import time
from collections import deque

from app.core.rates import Rate

CLEANUP_INTERVAL_CALLS = 20_000


class MemoryWindows:
    """Times of events by name and window, oldest first. Thread-safe.

    The memory storage of `limits` runs a thread that scans all keys a hundred times a second.
    """

    def __init__(self, *, cleanup_interval_calls: int = CLEANUP_INTERVAL_CALLS) -> None:
        self._events: dict[tuple[str, int], deque[float]] = {}
        self._lock = threading.Lock()
        self._calls, self._cleanup_interval_calls = 0, cleanup_interval_calls

    def __len__(self) -> int:
        return len(self._events)

    def wait_s(self, rate: Rate, name: str) -> int:
        with self._lock:
            return self._wait_s(rate, name, time.monotonic())

    def take(self, rate: Rate, name: str) -> int:
        now_s = time.monotonic()
        with self._lock:
            self._delete_empty_windows(now_s)
            wait_s = self._wait_s(rate, name, now_s)
            if not wait_s:
                self._events.setdefault((name, rate.per_s), deque()).append(now_s)
            return wait_s

    def clear(self, rate: Rate, name: str) -> None:
        with self._lock:
            self._events.pop((name, rate.per_s), None)

    def _wait_s(self, rate: Rate, name: str, now_s: float) -> int:
        events = self._events.get((name, rate.per_s))
        if not events:
            return 0
        while events and events[0] <= now_s - rate.per_s:
            events.popleft()
        return 0 if len(events) < rate.times else max(1, math.ceil(events[-rate.times] + rate.per_s - now_s))

    def _delete_empty_windows(self, now_s: float) -> None:
        """Delete empty windows once per `cleanup_interval_calls` calls."""
        self._calls += 1
        if self._calls % self._cleanup_interval_calls == 0:
            expired = [key for key, events in self._events.items() if not events or events[-1] <= now_s - key[1]]
            for key in expired:
                del self._events[key]
