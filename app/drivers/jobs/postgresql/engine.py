"""The job engine of PostgreSQL: Procrastinate, for any number of nodes."""

import threading
from collections.abc import Iterator, Mapping

import sqlalchemy as sa

from app.core.jobs import Job, JobCall
from app.drivers.jobs.port import DeadJob, JobStatus, QueueCounts, Run
from app.drivers.jobs.postgresql import queue
from app.drivers.jobs.retry_policy import JobTimings


class ProcrastinateJobs:
    """An implementation of `JobEngine`. The worker opens connections to the database of `engine`."""

    def __init__(self, engine: sa.Engine, timing: JobTimings | None = None) -> None:
        self._engine = engine
        # Procrastinate notifies of a new call, but not of the end of a lock or of a call that waits again.
        self._timing = timing or JobTimings(poll_s=0.25)
        self._reports: dict[int, tuple[int, int | None]] = {}

    def install(self, connection: sa.Connection) -> None:
        """Create the missing tables of the engine. Changes of later versions of Procrastinate are migrations."""
        queue.create(connection)

    def uninstall(self, connection: sa.Connection) -> None:
        queue.drop(connection)

    def owns_table(self, name: str) -> bool:
        return name.startswith("procrastinate_") or name == queue.EXTRA_TABLE

    def defer(self, connection: sa.Connection, call: JobCall) -> str | None:
        """Store a call and return its id."""
        job_id = queue.add(connection, call)
        return None if job_id is None else str(job_id)

    def status(self, connection: sa.Connection, job_id: str) -> JobStatus | None:
        return queue.read_status(connection, int(job_id)) if job_id.isdecimal() else None

    def dead(self, connection: sa.Connection, limit: int = 100) -> list[DeadJob]:
        return queue.read_dead(connection, limit)

    def retry_dead(self, connection: sa.Connection, job_id: str) -> bool:
        """Enqueue a dead letter again."""
        return job_id.isdecimal() and queue.requeue_dead(connection, int(job_id))

    def counts(self, connection: sa.Connection) -> QueueCounts:
        return queue.read_counts(connection)

    def unfinished(self, connection: sa.Connection) -> Iterator[JobCall]:
        return queue.read_unfinished(connection)

    def report(self, job_id: str, done: int, total: int | None) -> None:
        self._reports[int(job_id)] = (done, total)

    def work(self, run: Run, *, jobs: Mapping[str, Job], stop: threading.Event, concurrency: int) -> None:
        """Run calls until `stop` is set."""
        # Import here: the web process does not need the asynchronous worker.
        from app.drivers.jobs.postgresql.worker import ProcrastinateWorker

        ProcrastinateWorker(self._engine, self._timing, run, jobs, self._reports).work(stop, concurrency)
