"""Limits of concurrent use in one worker, per key and in total.

The counters are in memory. The limited resources are too small to be counted in the database.
"""

import threading
from collections import Counter


class ConcurrencyLimiter:
    """A limiter of concurrent uses: at most `per_key` per key and `total` in total."""

    def __init__(self, *, per_key: int, total: int) -> None:
        self._per_key, self._total = per_key, total
        self._uses: Counter[str] = Counter()
        self._lock = threading.Lock()

    def acquire(self, key: str) -> bool:
        """Count a use of the key. Return False if a limit is reached."""
        with self._lock:
            if self._uses.total() >= self._total or self._uses[key] >= self._per_key:
                return False
            self._uses[key] += 1
            return True

    def release(self, key: str) -> None:
        """End a use of the key."""
        with self._lock:
            self._uses[key] -= 1
            if not self._uses[key]:
                del self._uses[key]
