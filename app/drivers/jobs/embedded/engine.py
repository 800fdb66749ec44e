"""The job engine of SQLite: one table in the database of the application, for the workers of one node."""

import threading
from collections.abc import Iterator, Mapping

import sqlalchemy as sa

from app.core.jobs import Job, JobCall
from app.drivers.jobs.embedded import queries, queue
from app.drivers.jobs.embedded.tables import METADATA
from app.drivers.jobs.embedded.worker import EmbeddedWorker
from app.drivers.jobs.port import DeadJob, JobStatus, QueueCounts, Run
from app.drivers.jobs.retry_policy import JobTimings


class EmbeddedJobs:
    """An implementation of `JobEngine` on the engine of the application."""

    def __init__(self, engine: sa.Engine, timing: JobTimings | None = None) -> None:
        self._engine = engine
        # SQLite sends no notifications, and a poll costs microseconds.
        self._timing = timing or JobTimings(poll_s=0.1)
        self._reports: dict[int, tuple[int, int | None]] = {}

    def install(self, connection: sa.Connection) -> None:
        """Create the missing tables of the engine."""
        METADATA.create_all(connection)

    def uninstall(self, connection: sa.Connection) -> None:
        """Drop the tables of the engine."""
        METADATA.drop_all(connection)

    def owns_table(self, name: str) -> bool:
        """Return whether a table belongs to the engine."""
        return name in METADATA.tables or name == "sqlite_sequence"

    def defer(self, connection: sa.Connection, call: JobCall) -> str | None:
        """Store a call and return its id."""
        job_id = queue.add(connection, call)
        return None if job_id is None else str(job_id)

    def status(self, connection: sa.Connection, job_id: str) -> JobStatus | None:
        """Return the status of a call."""
        return queries.read_status(connection, int(job_id)) if job_id.isdecimal() else None

    def dead(self, connection: sa.Connection, limit: int = 100) -> list[DeadJob]:
        """Return the dead letters, newest first."""
        return queries.read_dead(connection, limit)

    def retry_dead(self, connection: sa.Connection, job_id: str) -> bool:
        """Enqueue a dead letter again."""
        return job_id.isdecimal() and queue.requeue_dead(connection, int(job_id))

    def counts(self, connection: sa.Connection) -> QueueCounts:
        """Return the counts of the queue."""
        return queries.read_counts(connection)

    def unfinished(self, connection: sa.Connection) -> Iterator[JobCall]:
        """Yield the waiting and running calls."""
        return queries.read_unfinished(connection)

    def report(self, job_id: str, done: int, total: int | None) -> None:
        """Report the progress of a running call."""
        self._reports[int(job_id)] = (done, total)

    def work(self, run: Run, *, jobs: Mapping[str, Job], stop: threading.Event, concurrency: int) -> None:
        """Run calls until `stop` is set."""
        EmbeddedWorker(self._engine, self._timing, run, jobs, self._reports).work(stop, concurrency)
