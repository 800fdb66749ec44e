"""Giving a piece of waiting up from another thread or greenlet; knows nothing of what is waited for."""

from collections.abc import Callable


class Cancellation:
    """Says whether something was given up, and ends the wait it is in at that moment.

    One may span several waits, one after another; none of them lasts once it is cancelled.
    """

    def __init__(self) -> None:
        self.cancelled = False
        self._end: Callable[[], None] | None = None

    def cancel(self) -> None:
        """Give up; safe to call from any thread, and twice."""
        self.cancelled = True
        end = self._end
        if end is not None:
            end()

    def ends_with(self, end: Callable[[], None] | None) -> None:
        """Say what ends the wait that begins now (None: there is none); called at once where it was given up before."""
        self._end = end
        if end is not None and self.cancelled:
            end()
