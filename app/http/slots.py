"""How much of one kind a worker does at once, for each that asks and in all, so that nobody keeps others from being served.

Counted in the process: what takes a place is too small a thing to be counted in the database.
"""

import threading
from collections import Counter


class Slots:
    """The places of one worker: so many for `each`, and so many `of_all` together."""

    def __init__(self, *, each: int, of_all: int) -> None:
        self._each, self._of_all = each, of_all
        self._taken: Counter[str] = Counter()
        self._lock = threading.Lock()

    def take(self, name: str) -> bool:
        """Take a place in somebody's or something's name; False when there is none."""
        with self._lock:
            if self._taken.total() >= self._of_all or self._taken[name] >= self._each:
                return False
            self._taken[name] += 1
            return True

    def give(self, name: str) -> None:
        """Give a place back."""
        with self._lock:
            self._taken[name] -= 1
            if not self._taken[name]:
                del self._taken[name]
