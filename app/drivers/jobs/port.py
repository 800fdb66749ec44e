"""The port of job engines and its values.

A call runs at least once, until one run succeeds, so jobs must be idempotent. Arguments are ids, never secrets: they
are stored in clear and shown with dead letters.
"""

import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Protocol

import sqlalchemy as sa

from app.core.jobs import Job, JobCall


@dataclass(frozen=True)
class JobRun:
    """One run of a call; `attempt` starts at 1 and includes runs that ended with their worker.

    `context` contains the correlation ids of the call.
    """

    id: str
    name: str
    args: Mapping[str, object]
    attempt: int
    context: Mapping[str, str] = field(default_factory=dict)


class JobState(StrEnum):
    """The state of a call. A failed run that will be retried sets it to `waiting`."""

    WAITING = "waiting"
    RUNNING = "running"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    """A periodic call without a remaining retry. The next period enqueues another one."""
    DEAD = "dead"


@dataclass(frozen=True)
class JobStatus:
    """The status of a call. `done` and `total` are the progress that the job reported."""

    id: str
    name: str
    state: JobState
    attempts: int
    done: int | None
    total: int | None
    error: str | None


@dataclass(frozen=True)
class DeadJob:
    """A call that failed permanently."""

    id: str
    name: str
    args: Mapping[str, object]
    attempts: int
    error: str
    died_at: datetime


@dataclass(frozen=True)
class QueueCounts:
    """Counts of the queue. `lag_s` is the waiting time of the oldest call that is due.

    `heartbeat_age_s` is the time since the last heartbeat of a worker, or None without a worker. `failed` is the number
    of periodic jobs whose last call failed.
    """

    waiting: int
    running: int
    dead: int
    lag_s: float
    heartbeat_age_s: float | None = None
    failed: int = 0


Run = Callable[[JobRun], None]
"""Function that runs one call in the calling thread. An exception is a failed run."""


class JobEngine(Protocol):
    """A queue of job calls with its worker.

    Methods with a connection work in the transaction of the caller and leave it usable. They are safe under gevent. The
    other methods belong to the worker process and open connections.
    """

    def install(self, connection: sa.Connection) -> None:
        """Create the missing tables of the engine."""

    def uninstall(self, connection: sa.Connection) -> None:
        """Drop the tables of the engine with all calls."""

    def owns_table(self, name: str) -> bool:
        """Return whether a table belongs to the engine. Alembic ignores these tables."""

    def defer(self, connection: sa.Connection, call: JobCall) -> str | None:
        """Store a call. Its run starts after the commit of the caller.

        Returns the id, or None if a call with the same `unique` key waits. The waiting call then starts after the
        commit of the caller as well, so it reads the rows of the caller.
        """

    def status(self, connection: sa.Connection, job_id: str) -> JobStatus | None:
        """Return the status of a call, or None for an unknown id and for calls older than `JobTimings.retention_s`."""

    def dead(self, connection: sa.Connection, limit: int = 100) -> list[DeadJob]:
        """Return the dead letters, newest first."""

    def retry_dead(self, connection: sa.Connection, job_id: str) -> bool:
        """Enqueue a dead letter with all its retries. Return False if the id is unknown.

        A waiting call with its key may be deleted: calls with one key do the same work.
        """

    def counts(self, connection: sa.Connection) -> QueueCounts:
        """Return the counts of the queue."""

    def unfinished(self, connection: sa.Connection) -> Iterator[JobCall]:
        """Yield the waiting and running calls in their order, as arguments of `defer`."""

    def report(self, job_id: str, done: int, total: int | None) -> None:
        """Report the progress of a running call.

        The progress is stored in memory and written within a second by another connection. On SQLite, a write in the
        transaction of the job would wait for itself.
        """

    def work(self, run: Run, *, jobs: Mapping[str, Job], stop: threading.Event, concurrency: int) -> None:
        """Run calls in threads, at most `concurrency` at once, until `stop` is set.

        `jobs` contains the retries and the intervals of each name. An unknown name runs with the default retries,
        because a newer version may have enqueued it. After `stop`, an engine waits for the runs. It may return after
        `JobTimings.grace_s`. The process must exit if threads still run, and their calls run again.
        """
