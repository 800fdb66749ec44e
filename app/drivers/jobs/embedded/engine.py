"""The job engine of SQLite: one table in the database of the application, for the workers of one node."""

import threading
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta

import sqlalchemy as sa

from app.core.jobs import Job, JobCall
from app.drivers.jobs.embedded import queue
from app.drivers.jobs.embedded.queue import CALLS, METADATA, NOW, PERIODS, RUNNING, WAITING, WORKER, split_context
from app.drivers.jobs.embedded.worker import EmbeddedWorker
from app.drivers.jobs.port import DeadJob, JobState, JobStatus, QueueCounts, Run
from app.drivers.jobs.retry_policy import JobTimings


class EmbeddedJobs:
    """An implementation of `JobEngine` on the engine of the application."""

    def __init__(self, engine: sa.Engine, timing: JobTimings | None = None) -> None:
        self._engine = engine
        # SQLite sends no notifications, and a poll costs microseconds. A heartbeat takes the write lock.
        self._timing = timing or JobTimings(heartbeat_s=10.0, sweep_s=5.0, poll_s=0.1)
        self._reports: dict[int, tuple[int, int | None]] = {}

    def install(self, connection: sa.Connection) -> None:
        METADATA.create_all(connection)

    def uninstall(self, connection: sa.Connection) -> None:
        METADATA.drop_all(connection)

    def owns_table(self, name: str) -> bool:
        return name in METADATA.tables or name == "sqlite_sequence"

    def defer(self, connection: sa.Connection, call: JobCall) -> str | None:
        """Store a call and return its id."""
        job_id = queue.add(connection, call)
        return None if job_id is None else str(job_id)

    def status(self, connection: sa.Connection, job_id: str) -> JobStatus | None:
        return read_status(connection, int(job_id)) if job_id.isdecimal() else None

    def dead(self, connection: sa.Connection, limit: int = 100) -> list[DeadJob]:
        return read_dead(connection, limit)

    def retry_dead(self, connection: sa.Connection, job_id: str) -> bool:
        """Enqueue a dead letter again."""
        return job_id.isdecimal() and queue.requeue_dead(connection, int(job_id))

    def counts(self, connection: sa.Connection) -> QueueCounts:
        return read_counts(connection)

    def unfinished(self, connection: sa.Connection) -> Iterator[JobCall]:
        return read_unfinished(connection)

    def report(self, job_id: str, done: int, total: int | None) -> None:
        self._reports[int(job_id)] = (done, total)

    def work(self, run: Run, *, jobs: Mapping[str, Job], stop: threading.Event, concurrency: int) -> None:
        """Run calls until `stop` is set."""
        EmbeddedWorker(self._engine, self._timing, run, jobs, self._reports).work(stop, concurrency)


def read_status(connection: sa.Connection, job_id: int) -> JobStatus | None:
    """Return the status of a call."""
    c = CALLS.c
    statement = sa.select(c.id, c.name, c.state, c.attempts, c.done, c.total, c.error).where(c.id == job_id)
    row = connection.execute(statement).first()
    return None if row is None else JobStatus(str(row.id), row.name, JobState(row.state), *row[3:])


def read_dead(connection: sa.Connection, limit: int) -> list[DeadJob]:
    """Return the dead letters, newest first."""
    c = CALLS.c
    dead = sa.select(c.id, c.name, c.args, c.attempts, c.error, c.finished_at).where(c.state == JobState.DEAD)
    rows = connection.execute(dead.order_by(c.finished_at.desc(), c.id.desc()).limit(limit))
    return [
        DeadJob(
            str(row.id),
            row.name,
            split_context(row.args)[0],
            *row[3:5],
            died_at=datetime.fromtimestamp(row.finished_at, UTC),
        )
        for row in rows
    ]


def read_counts(connection: sa.Connection) -> QueueCounts:
    """Return the counts of the queue."""
    per_state = sa.select(CALLS.c.state, sa.func.count()).group_by(CALLS.c.state)
    counts: dict[str, int] = {row[0]: row[1] for row in connection.execute(per_state)}
    oldest = sa.select(sa.func.max(NOW - CALLS.c.run_at)).where(WAITING)
    return QueueCounts(
        waiting=counts.get(JobState.WAITING, 0),
        running=counts.get(JobState.RUNNING, 0),
        dead=counts.get(JobState.DEAD, 0),
        lag_s=max(0.0, connection.scalar(oldest) or 0.0),
        failed=counts.get(JobState.FAILED, 0),
        heartbeat_age_s=connection.scalar(sa.select(NOW - PERIODS.c.slot).where(PERIODS.c.name == WORKER)),
    )


def read_unfinished(connection: sa.Connection) -> Iterator[JobCall]:
    """Yield the waiting and running calls with their remaining delays."""
    c = CALLS.c
    remaining = sa.func.max(0.0, c.run_at - NOW)
    statement = sa.select(c.name, c.args, remaining, c.unique_key, c.lock_key, c.priority).where(WAITING | RUNNING)
    for name, stored, remaining_s, unique, lock, priority in connection.execute(statement.order_by(c.id)):
        args, cause = split_context(stored)
        yield JobCall(name, args, timedelta(seconds=remaining_s), unique, lock, priority, cause)
