"""The worker of Procrastinate: it runs synchronous jobs in threads and performs the maintenance."""

import asyncio
import logging
import os
import threading
import time
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta

import procrastinate
import sqlalchemy as sa
import structlog
from procrastinate import exceptions, job_context, jobs, retry
from procrastinate.connector import BaseConnector
from procrastinate.manager import JobManager
from psycopg.errors import LockNotAvailable

from app.core.jobs import Job
from app.drivers.jobs import retry_policy
from app.drivers.jobs.port import JobRun, Run
from app.drivers.jobs.postgresql import queue
from app.drivers.jobs.postgresql.queue import OUTBOUND_QUEUE, QUEUE, TASK
from app.drivers.jobs.retry_policy import JobTimings

PURGE_INTERVAL_S = 300.0
STOP_POLL_S = 0.025
STOP_REPEAT_S = 5.0
FAULT_PAUSE_S = 1.0
CONNECT_TIMEOUT_S = 5
POOL_TIMEOUT_S = 10.0
"""Time that a statement of Procrastinate waits for a connection. It also limits the back-off of the pool."""

RETRY_ATTEMPTS = 10
FAILED_PERIODIC_HOURS = 25
MAINTENANCE_THREADS = 3
MAX_CONNECTIONS = 5
"""Connections of both queues. Each one holds a connection that waits for notifications."""
EXIT_LEASE_EXPIRED = 1
"""Exit code of a worker process that was suspended for longer than its lease."""

log = structlog.get_logger()


class _RetryLaterError(Exception):
    """A failed run that is retried at `retry_at`."""

    def __init__(self, retry_at: datetime) -> None:
        super().__init__("the run failed")
        self.retry_at = retry_at


class _RunFailedError(Exception):
    """A failed run without a remaining retry."""


class _RetryDecisions(retry.BaseRetryStrategy):
    """A retry strategy that follows the exception. A run without a stored failure is retried after a pause."""

    def get_retry_decision(self, *, exception: BaseException, job: jobs.Job) -> retry.RetryDecision | None:
        if isinstance(exception, _RunFailedError):
            return None
        if isinstance(exception, _RetryLaterError):
            return retry.RetryDecision(retry_at=exception.retry_at)
        return retry.RetryDecision(retry_in={"seconds": round(FAULT_PAUSE_S)})


class _Outcomes(JobManager):
    """A job manager that writes a retry in one transaction with the deletion of the waiting call of the same key."""

    def __init__(self, connector: BaseConnector, engine: sa.Engine) -> None:
        super().__init__(connector)
        self._engine = engine

    async def retry_job(self, job: jobs.Job, retry_at: datetime | None = None, *_: object, **__: object) -> None:
        await asyncio.to_thread(self._retry, job, retry_at)

    def _retry(self, job: jobs.Job, retry_at: datetime | None) -> None:
        """Write a retry. Another transaction can hold the call with its key for longer than the lock timeout."""
        for attempt in range(RETRY_ATTEMPTS):
            try:
                with self._engine.begin() as connection:
                    if queue.is_running(connection, job):  # Else another worker has enqueued it.
                        queue.retry(connection, job, retry_at)
            except sa.exc.OperationalError as error:
                if attempt == RETRY_ATTEMPTS - 1 or not isinstance(error.orig, LockNotAvailable):
                    raise
            else:
                return


class ProcrastinateWorker:
    """A worker. It restarts after an error of the database.

    Procrastinate stops its worker if one of its statements fails, and waits for the running calls.
    """

    def __init__(
        self,
        engine: sa.Engine,
        timing: JobTimings,
        run: Run,
        jobs: Mapping[str, Job],
        reports: dict[int, tuple[int, int | None]],
    ) -> None:
        self._engine, self._timing, self._run, self._jobs = engine, timing, run, jobs
        self._reports, self._noting = reports, threading.Lock()
        self._periodic = {job.name for job, _ in retry_policy.periodic(jobs)}
        self._slots: dict[str, int] = {}
        self._running: set[int] = set()
        self._ended_at: dict[int, float] = {}
        self._worker_ids: dict[str, int] = {}
        self._suspects: set[tuple[int, int]] = set()
        self._swept_at = self._sweep_from = time.monotonic()

    def work(self, stop: threading.Event, concurrency: int) -> None:
        """Run calls until `stop` is set, then wait for the running ones."""
        # The log lines of Procrastinate contain arguments of jobs.
        logging.getLogger("procrastinate").setLevel(logging.WARNING)
        logging.getLogger("procrastinate.worker").setLevel(logging.CRITICAL)
        for name in (QUEUE, OUTBOUND_QUEUE):
            logging.getLogger(f"procrastinate.worker.{name}").setLevel(logging.WARNING)
        while not stop.is_set():
            try:
                asyncio.run(self._serve(stop, concurrency))
            except Exception as error:
                log.warning("worker.restarted", error=retry_policy.describe(error))
                stop.wait(FAULT_PAUSE_S)

    async def _serve(self, stop: threading.Event, concurrency: int) -> None:
        """Connect and run the workers of both queues until `stop` is set or one of them fails."""
        threads = concurrency + retry_policy.OUTBOUND_CONCURRENCY + MAINTENANCE_THREADS
        asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(threads, "job"))
        url = self._engine.url.set(drivername="postgresql").render_as_string(hide_password=False)
        connector = procrastinate.PsycopgConnector(
            conninfo=url,
            min_size=1,
            max_size=MAX_CONNECTIONS,
            timeout=POOL_TIMEOUT_S,
            reconnect_timeout=POOL_TIMEOUT_S,
            kwargs={"connect_timeout": CONNECT_TIMEOUT_S, "application_name": "galley-worker"},
        )
        app = procrastinate.App(connector=connector)
        app.job_manager = _Outcomes(connector, self._engine)
        app.task(name=TASK, queue=QUEUE, pass_context=True, retry=_RetryDecisions())(self._perform)
        async with app.open_async():
            numbers = ((QUEUE, concurrency), (OUTBOUND_QUEUE, retry_policy.OUTBOUND_CONCURRENCY))
            serving = [asyncio.create_task(self._serve_queue(app, name, number)) for name, number in numbers]
            maintenance = asyncio.create_task(self._run_maintenance(app.job_manager))
            stopping = asyncio.create_task(self._cancel_when_set(stop, serving))
            await asyncio.wait(serving, return_when=asyncio.FIRST_COMPLETED)
            for task in () if stop.is_set() else (stopping, *serving):
                task.cancel()
            # Heartbeats continue until the running calls of both queues have ended.
            outcomes = await asyncio.gather(*serving, return_exceptions=True)
            for task in (maintenance, stopping):
                task.cancel()
            await asyncio.gather(maintenance, stopping, return_exceptions=True)
        for outcome in outcomes:
            if isinstance(outcome, Exception):
                raise outcome
        log.info("worker.drained")

    def _serve_queue(self, app: procrastinate.App, name: str, concurrency: int) -> Coroutine[object, object, None]:
        timing = self._timing
        return app.run_worker_async(
            name=name,
            queues=[name],
            concurrency=concurrency,
            install_signal_handlers=False,
            fetch_job_polling_interval=timing.poll_s,
            update_heartbeat_interval=timing.heartbeat_s,
            stalled_worker_timeout=timing.lease_s,
        )

    async def _cancel_when_set(self, stop: threading.Event, serving: Sequence[asyncio.Task[None]]) -> None:
        """Start the drain. Procrastinate documents the cancellation of the worker for this.

        A cancellation during the registration of the worker can be lost. A second one would abort running calls.
        """
        while not stop.is_set():
            await asyncio.sleep(STOP_POLL_S)
        remaining = set(serving)
        while remaining:
            for worker in remaining:
                worker.cancel()
            remaining = (await asyncio.wait(remaining, timeout=STOP_REPEAT_S))[1]
            while remaining and self._running:
                remaining = (await asyncio.wait(remaining, timeout=STOP_REPEAT_S))[1]

    def _perform(
        self,
        context: job_context.JobContext,
        *,
        name: str,
        args: dict[str, object],
        cause: dict[str, str] | None = None,
        timestamp: int | None = None,
    ) -> None:
        """Run one call in this thread, and report its outcome to Procrastinate. Periodic calls have a timestamp."""
        job, job_id = context.job, queue.id_of(context.job)
        if job.worker_id is not None and job.queue is not None:
            self._worker_ids[job.queue] = job.worker_id
        self._running.add(job_id)
        try:
            self._run(JobRun(str(job_id), name, args, job.attempts + 1, cause or {}))
        except BaseException as error:  # every exception is a failure of the run, not of the worker
            raise self._failure(job, name, error) from error
        finally:
            self._note_progress(job_id)
            self._ended_at[job_id] = time.monotonic()
            self._running.discard(job_id)

    def _failure(self, job: jobs.Job, name: str, error: BaseException) -> Exception:
        """Store a failed run. Return the exception that decides the outcome."""
        with self._engine.begin() as connection:
            if not queue.is_running(connection, job):
                # Another worker runs the call, because this process was suspended. An outcome would end that run.
                log.error("job.lease_lost", job=name, job_id=job.id)
                os._exit(EXIT_LEASE_EXPIRED)
            failures = queue.note_failure(connection, queue.id_of(job), retry_policy.describe(error))
            if retry_policy.may_retry(self._jobs, name, failures, error):
                wait = timedelta(seconds=self._timing.backoff_s(failures, error))
                return _RetryLaterError(queue.clock(connection) + wait)
        return exceptions.JobAborted() if name in self._periodic else _RunFailedError()

    async def _run_maintenance(self, manager: JobManager) -> None:
        """Run the maintenance tasks, each at its interval, until the task is cancelled."""
        timing = self._timing
        tasks: list[tuple[Callable[[], Awaitable[object]], float]] = [
            (lambda: self._beat(manager), timing.heartbeat_s),
            (lambda: self._requeue_stalled(manager), timing.sweep_s),
            (lambda: self._fire(manager), timing.progress_s),
            (self._note_all_progress, timing.progress_s),
            (lambda: self._purge(manager), PURGE_INTERVAL_S),
        ]
        await asyncio.gather(*(repeat(task, every_s) for task, every_s in tasks))

    async def _beat(self, manager: JobManager) -> None:
        # Procrastinate stops its heartbeat at the start of the drain, and the lease could end before the calls.
        for worker_id in tuple(self._worker_ids.values()) if self._running else ():
            await manager.update_heartbeat(worker_id)

    async def _requeue_stalled(self, manager: JobManager) -> None:
        """Enqueue the calls of dead workers, and own calls whose outcome could not be written.

        A call must be stalled in two sweeps. After an outage of the database, or a suspension of this process, the
        other workers have the time of a lease to send a heartbeat.
        """
        lease_s = self._timing.lease_s
        stalled = list(await manager.get_stalled_jobs(seconds_since_heartbeat=lease_s))
        for worker_id in tuple(self._worker_ids.values()):
            stalled += await manager.list_jobs_async(status=queue.RUNNING, worker_id=worker_id)
        now = time.monotonic()
        for job_id, ended_at in list(self._ended_at.items()):
            if now - ended_at > lease_s:  # Procrastinate no longer writes its outcome.
                self._ended_at.pop(job_id, None)
        if now - self._swept_at > lease_s * 2 / 3:
            self._sweep_from = now + lease_s
        self._swept_at = now
        own = self._running | self._ended_at.keys()
        suspects = {(queue.id_of(job), job.attempts): job for job in stalled if job.id not in own}
        again = suspects.keys() & self._suspects if now > self._sweep_from else ()
        self._suspects = set(suspects)
        requeued = [await self._requeue(manager, suspects[key]) for key in again]
        if requeued:
            log.warning("job.leases_expired", waiting=sum(requeued), dead=len(requeued) - sum(requeued))

    async def _requeue(self, manager: JobManager, job: jobs.Job) -> bool:
        is_alive = await asyncio.to_thread(self._try_requeue, job)
        if not is_alive:
            status = jobs.Status.ABORTED if job.task_kwargs["name"] in self._periodic else jobs.Status.FAILED
            await manager.finish_job_by_id_async(queue.id_of(job), status, delete_job=False)
        return is_alive

    def _try_requeue(self, job: jobs.Job) -> bool:
        limit = self._timing.poison_limit
        with self._engine.begin() as connection:
            return queue.requeue_stalled(connection, job, limit, retry_policy.too_many_crashes(limit))

    async def _fire(self, manager: JobManager) -> None:
        """Enqueue the periodic jobs of a new period, once on all nodes. Skip those whose previous call waits."""
        now_s = (await asyncio.to_thread(self._clock)).timestamp()
        for job, every in retry_policy.periodic(self._jobs):
            number = retry_policy.slot(now_s, every)
            if self._slots.get(job.name) != number:
                call = queue.periodic_call(job, number)
                try:
                    await manager.defer_periodic_job(call, retry_policy.periodic_key(job.name), number)
                except exceptions.AlreadyEnqueued:
                    log.debug("job.period_skipped", job=job.name)
                self._slots[job.name] = number

    def _clock(self) -> datetime:
        with self._engine.connect() as connection:
            return queue.clock(connection)

    async def _note_all_progress(self) -> None:
        for job_id in list(self._reports):
            await asyncio.to_thread(self._note_progress, job_id)

    def _note_progress(self, job_id: int) -> None:
        """Store the last report of a call. One write at a time, so that an older report never replaces a newer one."""
        with self._noting:
            progress = self._reports.pop(job_id, None)
            if progress is not None:
                try:
                    with self._engine.begin() as connection:
                        queue.note_progress(connection, job_id, *progress)
                except sa.exc.SQLAlchemyError as error:
                    log.warning("job.progress_lost", job_id=job_id, error=retry_policy.describe(error))

    async def _purge(self, manager: JobManager) -> None:
        """Delete calls that ended before the retention."""
        timing = self._timing
        await manager.delete_old_jobs(round(timing.retention_s / 3600))
        await manager.delete_old_jobs(FAILED_PERIODIC_HOURS, include_aborted=True)
        await manager.delete_old_jobs(round(timing.dead_retention_s / 3600), include_failed=True)


async def repeat(task: Callable[[], Awaitable[object]], every_s: float) -> None:
    """Run a task at an interval until the present task is cancelled. A failed run does not end it."""
    while True:
        try:
            await task()
        except Exception as error:
            log.warning("job.maintenance_failed", error=retry_policy.describe(error))
        # A connection that is lost during the cancellation raises its own error in place of CancelledError.
        present = asyncio.current_task()
        if present is not None and present.cancelling():
            raise asyncio.CancelledError
        await asyncio.sleep(every_s)
