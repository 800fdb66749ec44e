"""Steps of all fault tests: proxy faults, waits and counts of replies."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from tests.faults.workload import Reply, Workload
from tests.support.doubles.fault_proxy import FaultProxy, Mode

FINE, MADE = 200, 201
RECOVERS_WITHIN_S = 60


@contextmanager
def fault_of(proxy: FaultProxy, mode: Mode, **how: float) -> Iterator[None]:
    """Make the proxy fail inside the block."""
    proxy.fail(mode, **how)  # type: ignore[arg-type]
    try:
        yield
    finally:
        proxy.recover()


def wait_until_recovered(workload: Workload) -> None:
    """Wait until reads and writes work again without a restart."""
    deadline = time.monotonic() + RECOVERS_WITHIN_S
    who = workload.create_users(1)[0]
    while not (
        workload.reads(who).status == FINE and all(reply.status in (FINE, MADE) for reply in workload.writes(who))
    ):
        assert time.monotonic() < deadline, "it does not recover"
        time.sleep(0.2)
        who = workload.create_users(1)[0]


def count_statuses(replies: list[Reply]) -> dict[int, int]:
    """Return the number of replies by status."""
    return {status: sum(one.status == status for one in replies) for status in sorted({one.status for one in replies})}


def until(holds: Callable[[], bool], otherwise: str, within_s: float = 120) -> None:
    """Wait until a condition is true."""
    deadline = time.monotonic() + within_s
    while not holds():
        assert time.monotonic() < deadline, otherwise
        time.sleep(0.2)
