"""End of tests that would run for minutes or hours."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def watchdog(limit_s: float = 60) -> Iterator[None]:
    """Fail a block that uses too much processor time. This ends a loop; it is not a measurement."""

    def fail(_number: int, _frame: FrameType | None) -> None:
        raise AssertionError(f"this did not end within {limit_s:.0f} s of the processor's time")

    before = signal.signal(signal.SIGPROF, fail)
    signal.setitimer(signal.ITIMER_PROF, limit_s)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)
