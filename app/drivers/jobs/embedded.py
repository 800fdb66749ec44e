"""The job engine for SQLite: the queue is a table beside the application's own, for the workers of one node."""

import threading
from collections.abc import Iterator, Mapping

import sqlalchemy as sa

from app.core.jobs import Job, JobCall
from app.drivers.jobs import embedded_ledger as ledger
from app.drivers.jobs import embedded_queries as queries
from app.drivers.jobs.embedded_worker import EmbeddedWorker
from app.drivers.jobs.policy import Timing
from app.drivers.jobs.port import DeadJob, JobStatus, QueueCounts, Run


class EmbeddedJobs:
    """Implements `JobEngine`. `engine` is the application's, prepared by `app.core.database`."""

    def __init__(self, engine: sa.Engine, timing: Timing | None = None) -> None:
        self._engine = engine
        # No notice of a new call comes from SQLite, and looking costs microseconds.
        self._timing = timing or Timing(poll_s=0.1)
        self._reports: dict[int, tuple[int, int | None]] = {}

    def install(self, connection: sa.Connection) -> None:
        """See the port."""
        ledger.METADATA.create_all(connection)

    def uninstall(self, connection: sa.Connection) -> None:
        """See the port."""
        ledger.METADATA.drop_all(connection)

    def owns_table(self, name: str) -> bool:
        """See the port."""
        return name in ledger.METADATA.tables or name == "sqlite_sequence"

    def defer(self, connection: sa.Connection, call: JobCall) -> str | None:
        """See the port."""
        kept = ledger.add(connection, call)
        return None if kept is None else str(kept)

    def status(self, connection: sa.Connection, job_id: str) -> JobStatus | None:
        """See the port."""
        return queries.read_status(connection, int(job_id)) if job_id.isdecimal() else None

    def dead(self, connection: sa.Connection, limit: int = 100) -> list[DeadJob]:
        """See the port."""
        return queries.read_dead(connection, limit)

    def retry_dead(self, connection: sa.Connection, job_id: str) -> bool:
        """See the port."""
        return job_id.isdecimal() and ledger.revive(connection, int(job_id))

    def counts(self, connection: sa.Connection) -> QueueCounts:
        """See the port."""
        return queries.read_counts(connection)

    def unfinished(self, connection: sa.Connection) -> Iterator[JobCall]:
        """See the port."""
        return queries.read_unfinished(connection)

    def report(self, job_id: str, done: int, total: int | None) -> None:
        """See the port."""
        self._reports[int(job_id)] = (done, total)

    def work(self, run: Run, *, jobs: Mapping[str, Job], stop: threading.Event, concurrency: int) -> None:
        """See the port."""
        EmbeddedWorker(self._engine, self._timing, run, jobs, self._reports).work(stop, concurrency)
