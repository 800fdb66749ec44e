"""Job manager of Procrastinate that handles lost connections, expired leases and taken keys.

Without it, an outcome that cannot be written leaves the call running forever. A retry fails while a newer call waits
with the same queueing lock. A worker that is presumed dead can end a call of another worker. Calls of a dead worker
never run.
"""

import asyncio
import datetime
from collections.abc import Awaitable, Callable, Collection, Iterable
from functools import partial
from typing import Any, TypeVar

import structlog
from procrastinate import exceptions, jobs, manager

from app.core.jobs import Job
from app.drivers.jobs.postgresql import statements as sql
from app.drivers.jobs.postgresql.queue import QUEUE, TASK, envelope
from app.drivers.jobs.retry_policy import JobTimings, periodic_key, too_many_crashes

T = TypeVar("T")
FAULT_PAUSE_S = 1.0
WRITE_ATTEMPTS = 60

log = structlog.get_logger()


def raise_if_cancelled() -> None:
    """Raise CancelledError if the present task was cancelled.

    A connection that is lost during the cancellation raises its own error in place of CancelledError. A loop that
    continues after that error would never end.
    """
    task = asyncio.current_task()
    if task is not None and task.cancelling():
        raise asyncio.CancelledError


class LeasedJobManager(manager.JobManager):
    """The statements of one worker. It owns a call while the row contains its worker id."""

    worker_id: int | None = None
    periodic: Collection[str] = ()
    """The names of the periodic jobs. Their failed calls have the status `aborted` and are no dead letters."""

    async def register_worker(self) -> int:
        """Store the id for the heartbeats during the drain."""
        self.worker_id = await super().register_worker()
        return self.worker_id

    async def unregister_worker(self, worker_id: int) -> None:
        """Clear the id first, so that no late heartbeat inserts the worker again."""
        self.worker_id = None
        await super().unregister_worker(worker_id)

    async def update_heartbeat(self, worker_id: int) -> None:
        """Write a heartbeat. An unavailable database must not stop the worker."""
        try:
            await self.connector.execute_query_async(sql.BEAT, worker_id=worker_id)
        except exceptions.ConnectorException as error:
            raise_if_cancelled()
            log.warning("job.heartbeat_failed", error=type(error.__cause__ or error).__name__)

    async def fetch_job(self, queues: Iterable[str] | None, worker_id: int) -> jobs.Job | None:
        """Claim a call. Return None if the database is unavailable or another worker took the lock."""
        try:
            return await super().fetch_job(queues, worker_id)
        except exceptions.ConnectorException as error:
            log.warning("job.claim_failed", error=type(error.__cause__ or error).__name__)
            await asyncio.sleep(FAULT_PAUSE_S)
            return None

    async def listen_for_jobs(
        self, *, on_notification: manager.NotificationCallback, queues: Iterable[str] | None = None
    ) -> None:
        """Listen, and reconnect after a lost connection."""
        while True:
            try:
                await super().listen_for_jobs(on_notification=on_notification, queues=queues)
            except exceptions.ConnectorException as error:
                log.warning("job.listener_lost", error=type(error.__cause__ or error).__name__)
            raise_if_cancelled()
            await asyncio.sleep(FAULT_PAUSE_S)

    async def finish_job(self, job: jobs.Job, status: jobs.Status, delete_job: bool) -> None:
        """Write the final outcome if this worker owns the lease."""
        name = job.task_kwargs.get("name")
        if name in self.periodic:
            status = jobs.Status.ABORTED if status == jobs.Status.FAILED else status
            forget = partial(self.connector.execute_query_async, sql.FORGET_FAILURES, name=name, job_id=job.id)
            await self._retry_write(forget)
        await self._conclude(job, sql.FINISH, status=status.value, delete_job=delete_job)

    async def retry_job(
        self,
        job: jobs.Job,
        retry_at: datetime.datetime | None = None,
        priority: int | None = None,
        queue: str | None = None,
        lock: str | None = None,
    ) -> None:
        """Enqueue the call until `retry_at` if this worker owns the lease, without its unique key if that is taken."""
        # Use only the difference of the local clock. The absolute time is that of the database.
        away = retry_at - datetime.datetime.now(datetime.UTC) if retry_at else datetime.timedelta(0)
        unchanged = {"priority": priority, "queue": queue, "lock": lock}
        await self._conclude(job, sql.RETRY, first=sql.FREE_KEY, wait_s=max(0.0, away.total_seconds()), **unchanged)

    async def _conclude(self, job: jobs.Job, query: Any, first: Any = None, **values: Any) -> None:
        held = {"job_id": job.id, "worker_id": job.worker_id}

        async def write() -> list[dict[str, Any]]:
            if first is not None:
                await self.connector.execute_query_async(first, **held)
            return await self.connector.execute_query_all_async(query, **held, **values)

        if not await self._retry_write(write):
            log.warning("job.lease_lost", job=job.task_kwargs.get("name"), job_id=job.id)

    async def _retry_write(self, write: Callable[[], Awaitable[T]]) -> T:
        """Retry a write for up to one minute while the database is unavailable or a key is taken."""
        for _ in range(WRITE_ATTEMPTS):
            try:
                return await write()
            except exceptions.ConnectorException as error:
                raise_if_cancelled()
                log.warning("job.write_failed", error=type(error.__cause__ or error).__name__)
                await asyncio.sleep(FAULT_PAUSE_S)
        return await write()

    async def note_failure(self, job_id: int, error: str) -> int:
        """Count a failed run and return the number of failures."""
        note = partial(self.connector.execute_query_one_async, sql.NOTE_FAILURE, job_id=job_id, error=error)
        return int((await self._retry_write(note))["failures"])

    async def note_progress(self, job_id: int, done: int, total: int | None) -> None:
        """Store the progress of a call."""
        await self.connector.execute_query_async(sql.NOTE_PROGRESS, job_id=job_id, done=done, total=total)

    async def requeue_expired(self, timing: JobTimings) -> dict[str, list[int]]:
        """Requeue or bury the calls of dead workers. Return their ids by the new status."""
        moved: dict[str, list[int]] = {}
        keyless = False
        while True:
            limit = timing.poison_limit
            values = {
                "lease_s": timing.lease_s,
                "limit": limit,
                "poisoned": too_many_crashes(limit),
                "keyless": keyless,
                "periodic": list(self.periodic),
            }
            try:
                rows = await self.connector.execute_query_all_async(sql.REQUEUE_EXPIRED, **values)
            except exceptions.UniqueViolation:
                # A newer call took the key concurrently.
                if keyless:
                    raise
                keyless = True
                continue
            if not rows:
                return moved
            moved.setdefault(rows[0]["status"], []).append(rows[0]["id"])
            keyless = False

    async def clock_s(self) -> float:
        """Return the clock of the database in epoch seconds."""
        return float((await self.connector.execute_query_one_async(sql.CLOCK))["now_s"])

    async def fire(self, job: Job, slot: int) -> None:
        """Enqueue a periodic job once per period on all nodes. Skip it while its previous call waits."""
        values = {"queue": QUEUE, "task": TASK, "key": periodic_key(job.name), "priority": job.priority}
        try:
            await self.connector.execute_query_async(
                sql.FIRE, **values, name=job.name, slot=slot, args=envelope(job.name, {})
            )
        except exceptions.UniqueViolation:
            log.debug("job.period_skipped", job=job.name)

    async def purge(self, timing: JobTimings) -> None:
        """Delete calls that ended before the retention, and dead letters of periodic jobs of an earlier version."""
        values = {"retention_s": timing.retention_s, "dead_retention_s": timing.dead_retention_s}
        await self.connector.execute_query_async(sql.PURGE, **values, periodic=list(self.periodic))
