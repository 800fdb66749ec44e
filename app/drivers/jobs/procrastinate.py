"""The job engine for PostgreSQL: Procrastinate, for the workers of any number of nodes."""

import threading
from collections.abc import Iterator, Mapping

import sqlalchemy as sa

from app.core.jobs import Job, JobCall
from app.drivers.jobs import procrastinate_ledger as ledger
from app.drivers.jobs.policy import Timing
from app.drivers.jobs.port import DeadJob, JobStatus, QueueCounts, Run


class ProcrastinateJobs:
    """Implements `JobEngine`. The worker connects by itself to where `engine` points."""

    def __init__(self, engine: sa.Engine, timing: Timing | None = None) -> None:
        self._engine = engine
        self._timing = timing or Timing()
        self._reports: dict[int, tuple[int, int | None]] = {}

    def install(self, connection: sa.Connection) -> None:
        """See the port. A later version's changes are a migration of their own, from Procrastinate's `sql/migrations`."""
        ledger.create(connection)

    def uninstall(self, connection: sa.Connection) -> None:
        """See the port."""
        ledger.drop(connection)

    def owns_table(self, name: str) -> bool:
        """See the port."""
        return name.startswith("procrastinate_") or name == ledger.NOTES

    def defer(self, connection: sa.Connection, call: JobCall) -> str | None:
        """See the port."""
        kept = ledger.add(connection, call)
        return None if kept is None else str(kept)

    def status(self, connection: sa.Connection, job_id: str) -> JobStatus | None:
        """See the port."""
        return ledger.read_status(connection, int(job_id)) if job_id.isdecimal() else None

    def dead(self, connection: sa.Connection, limit: int = 100) -> list[DeadJob]:
        """See the port."""
        return ledger.read_dead(connection, limit)

    def retry_dead(self, connection: sa.Connection, job_id: str) -> bool:
        """See the port."""
        return job_id.isdecimal() and ledger.revive(connection, int(job_id))

    def counts(self, connection: sa.Connection) -> QueueCounts:
        """See the port."""
        return ledger.read_counts(connection)

    def unfinished(self, connection: sa.Connection) -> Iterator[JobCall]:
        """See the port."""
        return ledger.read_unfinished(connection)

    def report(self, job_id: str, done: int, total: int | None) -> None:
        """See the port."""
        self._reports[int(job_id)] = (done, total)

    def work(self, run: Run, *, jobs: Mapping[str, Job], stop: threading.Event, concurrency: int) -> None:
        """See the port."""
        # Imported here: the web process defers through SQL alone and need not load the worker's async machinery.
        from app.drivers.jobs.procrastinate_worker import ProcrastinateWorker

        url = self._engine.url.set(drivername="postgresql").render_as_string(hide_password=False)
        ProcrastinateWorker(url, self._timing, run, jobs, self._reports).work(stop, concurrency)
