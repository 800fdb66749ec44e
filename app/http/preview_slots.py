"""How many requests to previews one worker serves at once, so that no site keeps everybody else from being served.

Counted in the process: a request is too small a thing to be counted in the database.
"""

import threading
from collections import Counter

from app.core.limits import SandboxLimits


class Slots:
    """The places of one worker: `requests` for each preview, `requests_of_all` for all of them together."""

    def __init__(self, limits: SandboxLimits) -> None:
        self._limits = limits
        self._taken: Counter[str] = Counter()
        self._lock = threading.Lock()

    def take(self, label: str) -> bool:
        """Take a place for a request to this preview; False when there is none."""
        with self._lock:
            full = self._taken.total() >= self._limits.requests_of_all
            if full or self._taken[label] >= self._limits.requests:
                return False
            self._taken[label] += 1
            return True

    def give(self, label: str) -> None:
        """Give a place back."""
        with self._lock:
            self._taken[label] -= 1
            if not self._taken[label]:
                del self._taken[label]
