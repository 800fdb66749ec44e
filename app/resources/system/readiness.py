"""What this process depends on, and whether it answers. Asked apart from any request's own session."""

from collections.abc import Callable
from typing import Any, Protocol, TypeVar

import sqlalchemy as sa
import structlog

from app.drivers.errors import DriverError
from app.drivers.jobs.port import QueueCounts
from app.drivers.storage.port import ObjectStore
from app.extensions import db

T = TypeVar("T")
log = structlog.get_logger(__name__)

OK, DOWN, ENDING, LATE, DEGRADED = "ok", "down", "ending", "late", "degraded"
WORKER_LATE_S, LAG_LATE_S = 60.0, 60.0
UNLIKELY_KEY = "readiness/none"


class Counts(Protocol):
    """The part of a job engine that tells how full its queue is."""

    def counts(self, connection: sa.Connection) -> QueueCounts:
        """See `JobEngine.counts`."""


class Rates(Protocol):
    """The part of the rate counter that tells whether it is shared."""

    def reach(self) -> bool | None:
        """See `RateCounter.reach`."""


def report(jobs: Counts, store: ObjectStore, rates: Rates, *, ending: bool) -> tuple[dict[str, Any], int]:
    """State by dependency, and the status to answer with: 503 while the database, which all needs, is down.

    Without anything else the service goes on, `degraded`: uploads answer 503 and deletions are done later, rates are
    counted in each process, jobs wait for a worker. A process that is `ending` asks nobody and says so, with 503, so
    that whoever spreads requests leaves it out.
    """
    if ending:
        return {"status": ENDING, "checks": {}}, 503
    counts = _state("database", lambda: _ask_database(jobs))
    checks: dict[str, dict[str, Any]] = {
        "database": {"state": DOWN} if counts is None else {"state": OK},
        "storage": _state("storage", lambda: _ask_store(store)) or {"state": DOWN},
    }
    if counts is not None:
        checks["jobs"] = _told_of_jobs(counts)
    shared = rates.reach()
    if shared is not None:
        checks["redis"] = {"state": OK if shared else DOWN}
    if counts is None:
        return {"status": "unavailable", "checks": checks}, 503
    whole = all(check["state"] == OK for name, check in checks.items() if name != "jobs" or counts.waiting)
    return {"status": OK if whole else DEGRADED, "checks": checks}, 200


def _state(name: str, ask: Callable[[], T]) -> T | None:
    try:
        return ask()
    except (sa.exc.SQLAlchemyError, DriverError, OSError) as error:
        log.warning("readiness.down", dependency=name, error=type(error).__name__)
        return None


def _ask_database(jobs: Counts) -> QueueCounts:
    with db.engine.connect() as connection:
        return jobs.counts(connection)


def _told_of_jobs(counts: QueueCounts) -> dict[str, Any]:
    """Late when the oldest due call has waited for long, or no worker gave a sign of life of late."""
    seen_s = counts.worker_seen_s
    absent = seen_s is None or seen_s > WORKER_LATE_S
    return {
        "state": LATE if absent or counts.lag_s > LAG_LATE_S else OK,
        "waiting": counts.waiting,
        "dead": counts.dead,
        "lag_s": round(counts.lag_s, 1),
        "worker_seen_s": None if seen_s is None else round(seen_s, 1),
    }


def _ask_store(store: ObjectStore) -> dict[str, Any]:
    store.head(UNLIKELY_KEY)
    return {"state": OK}
