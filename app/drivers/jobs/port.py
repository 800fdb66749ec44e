"""What a job engine promises, whatever keeps the queue; knows no store and no job by name.

A call is at-least-once: it runs until one run ended well, so jobs are idempotent. Arguments are ids, never secrets: they
are stored in clear and shown with dead letters.
"""

import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any, Protocol

import sqlalchemy as sa

from app.core.jobs import Job, JobCall


@dataclass(frozen=True)
class JobRun:
    """One run of a call; `attempt` counts from 1 and includes runs that ended with their worker.

    `cause` is the call's, kept beside its arguments.
    """

    id: str
    name: str
    args: Mapping[str, Any]
    attempt: int
    cause: Mapping[str, str] = field(default_factory=dict)


class JobState(StrEnum):
    """Where a call stands. A run that failed and will be tried again makes it `waiting` again."""

    WAITING = "waiting"
    RUNNING = "running"
    SUCCEEDED = "succeeded"
    DEAD = "dead"


@dataclass(frozen=True)
class JobStatus:
    """A call as its owner may ask for it; `done` and `total` are what the job itself reported."""

    id: str
    name: str
    state: JobState
    attempts: int
    done: int | None
    total: int | None
    error: str | None


@dataclass(frozen=True)
class DeadJob:
    """A call that will not be run again by itself."""

    id: str
    name: str
    args: Mapping[str, Any]
    attempts: int
    error: str
    died_at: datetime


@dataclass(frozen=True)
class QueueCounts:
    """The queue for metrics; `lag_s` is how long the oldest call that is due has been waiting to start.

    `worker_seen_s` is how long ago a worker last gave a sign of life; None where there is none.
    """

    waiting: int
    running: int
    dead: int
    lag_s: float
    worker_seen_s: float | None = None


Run = Callable[[JobRun], None]
"""Runs one call in the calling thread; an exception is a failed run."""


class JobEngine(Protocol):
    """Keeps calls and runs them.

    The methods that take a connection work in the caller's transaction and leave it usable; they are safe under gevent.
    The others belong to the worker's process and use connections of their own.
    """

    def install(self, connection: sa.Connection) -> None:
        """Create the engine's tables where they are missing."""

    def uninstall(self, connection: sa.Connection) -> None:
        """Drop them with every call in them."""

    def owns_table(self, name: str) -> bool:
        """Whether a table is the engine's own, which Alembic's autogenerate leaves alone."""

    def defer(self, connection: sa.Connection, call: JobCall) -> str | None:
        """Keep a call; its run starts after the caller's commit.

        Returns its id, or None when a call with the same `unique` key waits. That one then does not start before the
        caller's commit either, so it sees what the caller wrote.
        """

    def status(self, connection: sa.Connection, job_id: str) -> JobStatus | None:
        """How a call stands; None for an unknown id and for one that succeeded longer ago than `Timing.keep_s`."""

    def dead(self, connection: sa.Connection, limit: int = 100) -> list[DeadJob]:
        """The dead letters, the latest first."""

    def retry_dead(self, connection: sa.Connection, job_id: str) -> bool:
        """Make a dead letter wait again with all its retries; False when there is none of that id."""

    def counts(self, connection: sa.Connection) -> QueueCounts:
        """How full the queue is."""

    def unfinished(self, connection: sa.Connection) -> Iterator[JobCall]:
        """The calls that wait or run, in the order they came: what `defer` makes wait again elsewhere."""

    def report(self, job_id: str, done: int, total: int | None) -> None:
        """Note the progress of a running call.

        Kept in memory and written within about a second beside the job's own transaction, which on SQLite would
        otherwise wait for itself.
        """

    def work(self, run: Run, *, jobs: Mapping[str, Job], stop: threading.Event, concurrency: int) -> None:
        """Run calls in threads, at most `concurrency` at once, until `stop` is set.

        `jobs` tells the retries of each name and which are periodic; a name it lacks is run all the same, with the
        default retries, because a newer version may have enqueued it. After `stop`, runs have `Timing.grace_s` to end;
        those that do not are handed back to the queue, and the process must then exit, because their threads still run.
        """
