"""Breaks off what would go on for minutes or hours."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def watchdog(bites_after_s: float = 60) -> Iterator[None]:
    """Fail what takes so much of the processor's time: no measure of speed, but an end of what does not end."""

    def bite(_number: int, _frame: FrameType | None) -> None:
        raise AssertionError(f"this did not end within {bites_after_s:.0f} s of the processor's time")

    before = signal.signal(signal.SIGPROF, bite)
    signal.setitimer(signal.ITIMER_PROF, bites_after_s)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)
