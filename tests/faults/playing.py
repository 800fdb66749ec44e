"""What every row of the faults needs: making a proxy fail, waiting until it is over, telling what was answered."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from tests.doubles.fault_proxy import FaultProxy, Mode
from tests.faults.life import Life, Told

FINE, MADE = 200, 201
RECOVERS_WITHIN_S = 60


@contextmanager
def failing(proxy: FaultProxy, mode: Mode, **how: float) -> Iterator[None]:
    """The proxy fails inside."""
    proxy.fail(mode, **how)  # type: ignore[arg-type]
    try:
        yield
    finally:
        proxy.recover()


def recovered(life: Life) -> None:
    """Wait until reading and writing work again, without anything restarted."""
    deadline = time.monotonic() + RECOVERS_WITHIN_S
    who = life.people(1)[0]
    while not (life.reads(who).status == FINE and all(told.status in (FINE, MADE) for told in life.writes(who))):
        assert time.monotonic() < deadline, "it does not recover"
        time.sleep(0.2)
        who = life.people(1)[0]


def counted(told: list[Told]) -> dict[int, int]:
    """How often each status was answered."""
    return {status: sum(one.status == status for one in told) for status in sorted({one.status for one in told})}


def until(holds: Callable[[], bool], otherwise: str, within_s: float = 120) -> None:
    """Wait for something that must come."""
    deadline = time.monotonic() + within_s
    while not holds():
        assert time.monotonic() < deadline, otherwise
        time.sleep(0.2)
