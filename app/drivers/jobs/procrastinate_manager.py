"""Procrastinate's job manager, made to survive what would strand calls: lost connections, lost leases, taken keys.

As it comes, an outcome that cannot be written leaves the call running for ever under a live worker, a retry fails while
a newer call waits under the same queueing lock, a worker presumed dead may end a call that another one runs by now,
and nothing takes up the calls of a dead worker.
"""

import asyncio
import datetime
from collections.abc import Awaitable, Callable, Iterable
from functools import partial
from typing import Any, TypeVar

import structlog
from procrastinate import exceptions, jobs, manager

from app.core.jobs import Job
from app.drivers.jobs import procrastinate_statements as sql
from app.drivers.jobs.policy import Timing, periodic_key, poisoned
from app.drivers.jobs.procrastinate_ledger import QUEUE, TASK, envelope

T = TypeVar("T")
FAULT_PAUSE_S = 1.0
OUTLAST_ATTEMPTS = 60

log = structlog.get_logger()


class LeasedJobManager(manager.JobManager):
    """The statements of one worker; a call is its own only while the row names its worker id."""

    worker_id: int | None = None

    async def register_worker(self) -> int:
        """Remember the id, for the heartbeats that must go on while the worker drains."""
        self.worker_id = await super().register_worker()
        return self.worker_id

    async def unregister_worker(self, worker_id: int) -> None:
        """Forget the id first, so that no late heartbeat brings it back."""
        self.worker_id = None
        await super().unregister_worker(worker_id)

    async def update_heartbeat(self, worker_id: int) -> None:
        """Beat; a database that is away for a while must not end the worker."""
        try:
            await self.connector.execute_query_async(sql.BEAT, worker_id=worker_id)
        except exceptions.ConnectorException as error:
            log.warning("job_heartbeat_failed", error=type(error.__cause__ or error).__name__)

    async def fetch_job(self, queues: Iterable[str] | None, worker_id: int) -> jobs.Job | None:
        """Claim a call, or none while the database is away or another worker was faster on the same lock."""
        try:
            return await super().fetch_job(queues, worker_id)
        except exceptions.ConnectorException as error:
            log.warning("job_claim_failed", error=type(error.__cause__ or error).__name__)
            await asyncio.sleep(FAULT_PAUSE_S)
            return None

    async def listen_for_jobs(
        self, *, on_notification: manager.NotificationCallback, queues: Iterable[str] | None = None
    ) -> None:
        """Listen, and listen again when the connection was lost."""
        while True:
            try:
                await super().listen_for_jobs(on_notification=on_notification, queues=queues)
            except exceptions.ConnectorException as error:
                log.warning("job_listener_lost", error=type(error.__cause__ or error).__name__)
            await asyncio.sleep(FAULT_PAUSE_S)

    async def finish_job(self, job: jobs.Job, status: jobs.Status, delete_job: bool) -> None:
        """Write a last outcome, unless the lease was lost."""
        await self._conclude(job, sql.FINISH, status=status.value, delete_job=delete_job)

    async def retry_job(
        self,
        job: jobs.Job,
        retry_at: datetime.datetime | None = None,
        priority: int | None = None,
        queue: str | None = None,
        lock: str | None = None,
    ) -> None:
        """Make the call wait until `retry_at`, unless the lease was lost; without its unique key if that is taken."""
        # Only the distance is taken from this node's clock; the moment is the database's.
        away = retry_at - datetime.datetime.now(datetime.UTC) if retry_at else datetime.timedelta(0)
        unchanged = {"priority": priority, "queue": queue, "lock": lock}
        await self._conclude(job, sql.RETRY, first=sql.FREE_KEY, wait_s=max(0.0, away.total_seconds()), **unchanged)

    async def _conclude(self, job: jobs.Job, query: Any, first: Any = None, **values: Any) -> None:
        held = {"job_id": job.id, "worker_id": job.worker_id}

        async def write() -> list[dict[str, Any]]:
            if first is not None:
                await self.connector.execute_query_async(first, **held)
            return await self.connector.execute_query_all_async(query, **held, **values)

        if not await self._outlast(write):
            log.warning("job_lease_lost", job=job.task_kwargs.get("name"), job_id=job.id)

    async def _outlast(self, write: Callable[[], Awaitable[T]]) -> T:
        """Write through a database that is away for up to a minute, and past a key taken at the same moment."""
        for _ in range(OUTLAST_ATTEMPTS):
            try:
                return await write()
            except exceptions.ConnectorException as error:
                log.warning("job_write_failed", error=type(error.__cause__ or error).__name__)
                await asyncio.sleep(FAULT_PAUSE_S)
        return await write()

    async def note_failure(self, job_id: int, error: str) -> int:
        """Count a failed run; returns how many there were."""
        note = partial(self.connector.execute_query_one_async, sql.NOTE_FAILURE, job_id=job_id, error=error)
        return int((await self._outlast(note))["failures"])

    async def note_progress(self, job_id: int, done: int, total: int | None) -> None:
        """Keep what a job reported about itself."""
        await self.connector.execute_query_async(sql.NOTE_PROGRESS, job_id=job_id, done=done, total=total)

    async def take_back(self, timing: Timing) -> dict[str, list[int]]:
        """Make the calls of dead workers wait again, or bury them; returns their ids by new status."""
        moved: dict[str, list[int]] = {}
        keyless = False
        while True:
            limit = timing.poison_limit
            values = {"lease_s": timing.lease_s, "limit": limit, "poisoned": poisoned(limit), "keyless": keyless}
            try:
                rows = await self.connector.execute_query_all_async(sql.TAKE_BACK, **values)
            except exceptions.UniqueViolation:
                # A newer call took the key in the same moment.
                if keyless:
                    raise
                keyless = True
                continue
            if not rows:
                return moved
            moved.setdefault(rows[0]["status"], []).append(rows[0]["id"])
            keyless = False

    async def clock_s(self) -> float:
        """The database's clock, in epoch seconds."""
        return float((await self.connector.execute_query_one_async(sql.CLOCK))["now_s"])

    async def fire(self, job: Job, slot: int) -> None:
        """Enqueue a periodic job for a period, once over all nodes; not while its last firing still waits."""
        values = {"queue": QUEUE, "task": TASK, "key": periodic_key(job.name), "priority": job.priority}
        try:
            await self.connector.execute_query_async(
                sql.FIRE, **values, name=job.name, slot=slot, args=envelope(job.name, {})
            )
        except exceptions.UniqueViolation:
            log.debug("periodic_job_still_waits", job=job.name)

    async def purge(self, timing: Timing) -> None:
        """Delete what ended long ago."""
        await self.connector.execute_query_async(sql.PURGE, keep_s=timing.keep_s, keep_dead_s=timing.keep_dead_s)
