"""Rules of both engines: leases, back-off, dead letters and the stored part of an error."""

import random
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta

from app.core.errors import AppError
from app.core.jobs import Job, PermanentFailure
from app.drivers.errors import DriverError

CONCURRENCY = 4
"""Default number of parallel jobs of a worker."""
OUTBOUND_CONCURRENCY = 16
"""Number of additional parallel jobs that call servers of users."""

DEFAULT_RETRIES = 8
ERROR_LENGTH = 500
RETRY_AFTER_CAP_S = 60.0


@dataclass(frozen=True)
class JobTimings:
    """Intervals and lifetimes of an engine, in seconds.

    The calls of a dead worker run again at most `lease_s` and two `sweep_s` after its last heartbeat. The guaranteed
    time is 60 s. `heartbeat_s` is below `sweep_s`, so that a living worker sends a heartbeat between two sweeps.
    `poll_s` is the polling interval of the queue if no notification arrives.
    """

    lease_s: float = 30.0
    heartbeat_s: float = 2.0
    sweep_s: float = 2.5
    poll_s: float = 1.0
    progress_s: float = 1.0
    backoff_base_s: float = 8.0
    backoff_cap_s: float = 900.0
    grace_s: float = 25.0
    retention_s: float = 3_600.0
    dead_retention_s: float = 30 * 86_400.0
    poison_limit: int = 5
    """Number of runs that may end with their worker before the call is dead.

    A lower value is wrong: random kills of workers can hit one harmless call three times.
    """

    def backoff_s(self, failures: int, error: BaseException) -> float:
        """Return the seconds until the next run: full jitter up to min(cap, base · 2ⁿ), with n from 0.

        The result is at least the `Retry-After` of the error, which is limited to 60 s (limits, section 1).
        """
        ceiling_s = min(self.backoff_cap_s, self.backoff_base_s * 2 ** min(failures - 1, 30))
        requested_s = min(float(getattr(error, "retry_after_s", 0)), RETRY_AFTER_CAP_S)
        return max(random.uniform(0, ceiling_s), requested_s)  # noqa: S311 (jitter)


def may_retry(jobs: Mapping[str, Job], name: str, failures: int, error: BaseException) -> bool:
    """Return whether a call that failed `failures` times is retried."""
    retries = jobs[name].retries if name in jobs else DEFAULT_RETRIES
    return not isinstance(error, PermanentFailure) and failures <= retries


def describe(error: BaseException) -> str:
    """Return the stored text of an error. Messages of foreign exceptions are omitted: they may contain secrets."""
    kind = type(error).__name__
    is_own = isinstance(error, AppError | DriverError | PermanentFailure) and str(error)
    return f"{kind}: {error}"[:ERROR_LENGTH] if is_own else kind


def too_many_crashes(kills: int) -> str:
    """Return the error of a call whose workers died during each run."""
    return f"WorkerDied: {kills} workers ended while running it"


def periodic(jobs: Mapping[str, Job]) -> list[tuple[Job, timedelta]]:
    """Return the periodic jobs with their intervals."""
    return [(job, job.every) for job in jobs.values() if job.every is not None]


def slot(now_s: float, every: timedelta) -> int:
    """Return the number of the period of `now_s` (epoch seconds). It is equal on every node."""
    return int(now_s // every.total_seconds())


def periodic_key(name: str) -> str:
    """Return the unique key of a periodic job. A new call is skipped while the previous one waits."""
    return f"periodic:{name}"
