"""Cancellation of a wait from another thread or greenlet."""

from collections.abc import Callable


class Cancellation:
    """A flag that also ends the present wait when it is set.

    One object may cover several consecutive waits. After `cancel` every further wait ends at once.
    """

    def __init__(self) -> None:
        self.cancelled = False
        self._end: Callable[[], None] | None = None

    def cancel(self) -> None:
        """Set the flag and end the present wait. Thread-safe and idempotent."""
        self.cancelled = True
        end = self._end
        if end is not None:
            end()

    def on_cancel(self, end: Callable[[], None] | None) -> None:
        """Set the function that ends the next wait, or None. It runs at once if the object is already cancelled."""
        self._end = end
        if end is not None and self.cancelled:
            end()
