"""What this process depends on, and whether it answers. Asked apart from any request's own session."""

from collections.abc import Callable
from typing import Any, Protocol

import sqlalchemy as sa
import structlog

from app.drivers.errors import DriverError
from app.drivers.storage.port import ObjectStore
from app.extensions import db

log = structlog.get_logger(__name__)

OK, DOWN = "ok", "down"
UNLIKELY_KEY = "readiness/none"


class Counts(Protocol):
    """The part of a job engine that tells how full its queue is."""

    def counts(self, connection: sa.Connection) -> Any:
        """See `JobEngine.counts`."""


def report(jobs: Counts, store: ObjectStore) -> tuple[dict[str, Any], int]:
    """State by dependency, and the status to answer with: 503 while the database, which all needs, is down.

    Without the object store the service goes on: uploads answer 503, deletions are done later.
    """
    database = _state("database", lambda: _ask_database(jobs))
    checks = {
        "database": database or {"state": DOWN},
        "storage": _state("storage", lambda: _ask_store(store)) or {"state": DOWN},
    }
    ready = database is not None
    return {"status": OK if ready else "unavailable", "checks": checks}, 200 if ready else 503


def _state(name: str, ask: Callable[[], dict[str, Any]]) -> dict[str, Any] | None:
    try:
        return ask()
    except (sa.exc.SQLAlchemyError, DriverError, OSError) as error:
        log.warning("readiness.down", dependency=name, error=type(error).__name__)
        return None


def _ask_database(jobs: Counts) -> dict[str, Any]:
    with db.engine.connect() as connection:
        counts = jobs.counts(connection)
    return {"state": OK, "jobs_waiting": counts.waiting, "jobs_dead": counts.dead, "job_lag_s": round(counts.lag_s, 1)}


def _ask_store(store: ObjectStore) -> dict[str, Any]:
    store.head(UNLIKELY_KEY)
    return {"state": OK}
