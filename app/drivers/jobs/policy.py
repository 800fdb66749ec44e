"""The numbers and rules both engines share: leases, back-off, when a call is dead, what of an error is kept."""

import random
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta

from app.core.errors import AppError
from app.core.jobs import Job, PermanentFailure
from app.drivers.errors import DriverError

CONCURRENCY = 4
"""How many jobs a worker runs at once unless it is told otherwise."""

DEFAULT_RETRIES = 8
ERROR_LENGTH = 500
RETRY_AFTER_CAP_S = 60.0


@dataclass(frozen=True)
class Timing:
    """How an engine keeps time, in seconds.

    A worker that died is noticed `lease_s` after its last heartbeat and at most one `sweep_s` later, which stays far
    below the 90 s promised. `poll_s` is how often the queue is looked at where no notice of a new call comes.
    """

    lease_s: float = 30.0
    heartbeat_s: float = 10.0
    sweep_s: float = 5.0
    poll_s: float = 1.0
    progress_s: float = 1.0
    backoff_base_s: float = 8.0
    backoff_cap_s: float = 900.0
    grace_s: float = 25.0
    keep_s: float = 3_600.0
    keep_dead_s: float = 30 * 86_400.0
    poison_limit: int = 5
    """Runs that may end with their worker before the call is dead.

    Not lower: whoever kills workers at random hits the same innocent call three times soon enough.
    """

    def backoff_s(self, failures: int, error: BaseException) -> float:
        """Seconds until the next run after `failures` failed ones: full jitter up to min(cap, base · 2ⁿ), n from 0.

        Never sooner than what the other side asked for with `Retry-After`, honoured up to 60 s (limits, section 1).
        """
        ceiling_s = min(self.backoff_cap_s, self.backoff_base_s * 2 ** min(failures - 1, 30))
        asked_s = min(float(getattr(error, "retry_after_s", 0)), RETRY_AFTER_CAP_S)
        return max(random.uniform(0, ceiling_s), asked_s)  # noqa: S311 (jitter)


def may_retry(jobs: Mapping[str, Job], name: str, failures: int, error: BaseException) -> bool:
    """Whether a call that failed `failures` times is run again."""
    retries = jobs[name].retries if name in jobs else DEFAULT_RETRIES
    return not isinstance(error, PermanentFailure) and failures <= retries


def describe(error: BaseException) -> str:
    """What of an error is stored: the message only where our own code wrote it, since others' may quote secrets."""
    kind = type(error).__name__
    told = isinstance(error, AppError | DriverError | PermanentFailure) and str(error)
    return f"{kind}: {error}"[:ERROR_LENGTH] if told else kind


def poisoned(kills: int) -> str:
    """The error of a call that is given up because its worker never survived it."""
    return f"WorkerDied: {kills} workers ended while running it"


def periodic(jobs: Mapping[str, Job]) -> list[tuple[Job, timedelta]]:
    """The jobs that fire by themselves."""
    return [(job, job.every) for job in jobs.values() if job.every is not None]


def slot(now_s: float, every: timedelta) -> int:
    """The number of the period `now_s` (epoch seconds) lies in; every node counts alike, and each fires once."""
    return int(now_s // every.total_seconds())


def periodic_key(name: str) -> str:
    """The unique key of a periodic call: a firing is skipped while the last one still waits."""
    return f"periodic:{name}"
