"""State of the dependencies of this process."""

import os
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Protocol, TypeVar

import sqlalchemy as sa
import structlog

from app.drivers.errors import DriverError
from app.drivers.storage.port import ObjectStore
from app.resources.system.queries import QueueCounter, QueueState, queue_counts

T = TypeVar("T")
log = structlog.get_logger(__name__)

OK, DOWN, ENDING, LATE, DEGRADED, FULL = "ok", "down", "ending", "late", "degraded", "full"
WORKER_LATE_S, LAG_LATE_S = 60.0, 60.0
UNLIKELY_KEY = "readiness/none"
MIN_FREE_BYTES = 16 * 1024 * 1024
MIN_FREE_FILES = 100


class SharedCounter(Protocol):
    """The part of the rate counter that checks Redis."""

    def ping(self) -> bool | None:
        """See `RateCounter.ping`."""


def check_dependencies(
    jobs: QueueCounter,
    store: ObjectStore,
    rates: SharedCounter,
    *,
    ending: bool,
    folders: Sequence[Path] = (),
) -> tuple[dict[str, object], int]:
    """Return the state of each dependency, and the status of the response: 503 if the database is down.

    If another dependency is down, the service is `degraded`: uploads are 503 and deletions are delayed, rates are
    counted in each process, jobs wait for a worker. A process that is `ending` responds with 503 and checks nothing, so
    that a load balancer removes it.
    """
    if ending:
        return {"status": ENDING, "checks": {}}, 503
    counts = _state("database", lambda: queue_counts(jobs))
    checks: dict[str, dict[str, object]] = {
        "database": {"state": DOWN} if counts is None else {"state": OK},
        "storage": _state("storage", lambda: _store_state(store)) or {"state": DOWN},
        "disk": _state("disk", lambda: _disk_state(folders)) or {"state": DOWN},
    }
    if counts is not None:
        checks["jobs"] = _job_state(counts)
    shared = rates.ping()
    if shared is not None:
        checks["redis"] = {"state": OK if shared else DOWN}
    if counts is None:
        return {"status": "unavailable", "checks": checks}, 503
    is_ok = all(check["state"] == OK for name, check in checks.items() if name != "jobs" or counts.waiting)
    return {"status": OK if is_ok else DEGRADED, "checks": checks}, 200


def _state(name: str, check: Callable[[], T]) -> T | None:
    try:
        return check()
    except (sa.exc.SQLAlchemyError, DriverError, OSError) as error:
        log.warning("readiness.down", dependency=name, error=type(error).__name__)
        return None


def _job_state(counts: QueueState) -> dict[str, object]:
    """Return `late` if the oldest due call has waited too long, or if no worker has sent a heartbeat."""
    heartbeat_s = counts.heartbeat_age_s
    absent = heartbeat_s is None or heartbeat_s > WORKER_LATE_S
    return {
        "state": LATE if absent or counts.lag_s > LAG_LATE_S else OK,
        "waiting": counts.waiting,
        "dead": counts.dead,
        "lag_s": round(counts.lag_s, 1),
        "worker_seen_s": None if heartbeat_s is None else round(heartbeat_s, 1),
    }


def _store_state(store: ObjectStore) -> dict[str, object]:
    store.head(UNLIKELY_KEY)
    return {"state": OK}


def _disk_state(folders: Sequence[Path]) -> dict[str, object]:
    full = full_folders(folders)
    if full:
        log.warning("readiness.disk_full", folders=[str(folder) for folder in full])
    return {"state": FULL if full else OK}


def full_folders(
    folders: Iterable[Path], *, min_free_bytes: int = MIN_FREE_BYTES, min_free_files: int = MIN_FREE_FILES
) -> list[Path]:
    """Return the folders whose file system has no room for new files. Folders that do not exist are skipped."""
    return [
        folder
        for folder in dict.fromkeys(folders)
        if folder.exists() and _is_full(folder, min_free_bytes, min_free_files)
    ]


def _is_full(folder: Path, min_free_bytes: int, min_free_files: int) -> bool:
    status = os.statvfs(folder)
    # Some file systems, for example Btrfs, report no number of files.
    has_file_limit = status.f_files > 0
    return status.f_bavail * status.f_frsize < min_free_bytes or (has_file_limit and status.f_favail < min_free_files)
