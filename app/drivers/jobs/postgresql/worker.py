"""The worker of Procrastinate: it runs synchronous jobs in threads and performs the maintenance."""

import asyncio
import contextlib
import datetime
import logging
import threading
import time
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Any, cast

import procrastinate
import structlog
from procrastinate import exceptions, job_context, jobs, retry

from app.core.jobs import Job
from app.drivers.jobs.port import JobRun, Run
from app.drivers.jobs.postgresql.manager import FAULT_PAUSE_S, LeasedJobManager, raise_if_cancelled
from app.drivers.jobs.postgresql.queue import QUEUE, TASK
from app.drivers.jobs.retry_policy import JobTimings, describe, may_retry, periodic, slot

PURGE_INTERVAL_S = 60.0
STOP_POLL_S = 0.025
REGISTRATION_S = 10.0
CONNECT_TIMEOUT_S = 5

log = structlog.get_logger()


class _RunFailedError(Exception):
    """A failed run. `wait_s` is the time until the next run, or None if there is none."""

    def __init__(self, wait_s: float | None) -> None:
        super().__init__("the run failed")
        self.wait_s = wait_s


class _FixedRetryDecision(retry.BaseRetryStrategy):
    """A retry strategy that follows `_RunFailedError`. A run that the worker interrupted is retried at once."""

    def get_retry_decision(self, *, exception: BaseException, job: jobs.Job) -> retry.RetryDecision | None:
        if isinstance(exception, _RunFailedError) and exception.wait_s is None:
            return None
        wait_s = exception.wait_s or 0.0 if isinstance(exception, _RunFailedError) else 0.0
        return retry.RetryDecision(retry_at=datetime.datetime.now(datetime.UTC) + datetime.timedelta(seconds=wait_s))


class ProcrastinateWorker:
    """A worker. It restarts after an error of the database."""

    def __init__(
        self,
        url: str,
        timing: JobTimings,
        run: Run,
        jobs: Mapping[str, Job],
        reports: dict[int, tuple[int, int | None]],
    ) -> None:
        self._url, self._timing, self._run, self._jobs = url, timing, run, jobs
        self._reports = reports
        self._noted: dict[int, tuple[int, int | None]] = {}
        self._slots: dict[str, int] = {}

    def work(self, stop: threading.Event, concurrency: int) -> None:
        """Run calls until `stop` is set, then drain."""
        # The log lines of Procrastinate contain arguments of jobs.
        logging.getLogger("procrastinate").setLevel(logging.WARNING)
        logging.getLogger("procrastinate.worker").setLevel(logging.CRITICAL)
        logging.getLogger(f"procrastinate.worker.{QUEUE}").setLevel(logging.WARNING)
        while not stop.is_set():
            try:
                asyncio.run(self._serve(stop, concurrency))
            except Exception as error:
                log.warning("worker.restarted", error=describe(error))
                stop.wait(FAULT_PAUSE_S)

    async def _serve(self, stop: threading.Event, concurrency: int) -> None:
        """Connect and run one worker until `stop` is set."""
        self._noting = asyncio.Lock()
        pool: dict[str, Any] = {"min_size": 1, "max_size": 4, "timeout": 10.0}
        pool["kwargs"] = {"connect_timeout": CONNECT_TIMEOUT_S, "application_name": "galley-worker"}
        app = procrastinate.App(connector=procrastinate.PsycopgConnector(conninfo=self._url, **pool))
        app.job_manager = manager = LeasedJobManager(app.connector)
        manager.periodic = frozenset(job.name for job, _ in periodic(self._jobs))
        app.task(name=TASK, queue=QUEUE, pass_context=True, retry=_FixedRetryDecision())(
            partial(self._perform, manager)
        )
        async with app.open_async():
            serving = asyncio.create_task(self._start(app, concurrency))
            maintenance = asyncio.create_task(self._run_maintenance(manager))
            stopping = asyncio.create_task(cancel_when_set(stop, serving, manager))
            try:
                await serving
            except asyncio.CancelledError:
                log.info("worker.drained")
            finally:
                maintenance.cancel()
                stopping.cancel()
                await asyncio.gather(maintenance, stopping, return_exceptions=True)

    async def _start(self, app: procrastinate.App, concurrency: int) -> None:
        timing = self._timing
        await app.run_worker_async(
            name=QUEUE,
            queues=[QUEUE],
            concurrency=concurrency,
            install_signal_handlers=False,
            fetch_job_polling_interval=timing.poll_s,
            update_heartbeat_interval=timing.heartbeat_s,
            stalled_worker_timeout=timing.lease_s,
            shutdown_graceful_timeout=timing.grace_s,
        )

    async def _perform(
        self,
        manager: LeasedJobManager,
        context: job_context.JobContext,
        *,
        name: str,
        args: dict[str, Any],
        cause: dict[str, str] | None = None,
    ) -> None:
        """Run one call and report its outcome to Procrastinate."""
        job_id = cast(int, context.job.id)
        try:
            run = JobRun(str(job_id), name, args, context.job.attempts + 1, cause or {})
            error = await _in_thread(self._run, run)
            with contextlib.suppress(exceptions.ConnectorException):
                await self._note_one(manager, job_id)
        finally:
            self._reports.pop(job_id, None)
            self._noted.pop(job_id, None)
        if error is not None:
            failures = await manager.note_failure(job_id, describe(error))
            again = may_retry(self._jobs, name, failures, error)
            raise _RunFailedError(self._timing.backoff_s(failures, error) if again else None) from error

    async def _run_maintenance(self, manager: LeasedJobManager) -> None:
        """Run the maintenance tasks, each at its interval, until the task is cancelled."""
        timing = self._timing
        tasks: list[tuple[Callable[[], Awaitable[object]], float]] = [
            (lambda: self._beat(manager), timing.heartbeat_s),
            (lambda: self._requeue_expired(manager), timing.sweep_s),
            (lambda: self._fire(manager), timing.progress_s),
            (lambda: self._note_progress(manager), timing.progress_s),
            (lambda: manager.purge(timing), PURGE_INTERVAL_S),
        ]
        await asyncio.gather(*(repeat(task, every_s) for task, every_s in tasks))

    async def _beat(self, manager: LeasedJobManager) -> None:
        # Procrastinate stops its heartbeat at the start of the drain, and the lease could end before the grace period.
        if manager.worker_id is not None:
            await manager.update_heartbeat(manager.worker_id)

    async def _requeue_expired(self, manager: LeasedJobManager) -> None:
        if moved := await manager.requeue_expired(self._timing):
            log.warning(
                "job.leases_expired",
                waiting=len(moved.get("todo", ())),
                dead=len(moved.get("failed", ())) + len(moved.get("aborted", ())),
            )

    async def _fire(self, manager: LeasedJobManager) -> None:
        """Enqueue the periodic jobs of a new period."""
        recurring = periodic(self._jobs)
        now_s = await manager.clock_s() if recurring else 0.0
        for job, every in recurring:
            number = slot(now_s, every)
            if self._slots.get(job.name) != number:
                await manager.fire(job, number)
                self._slots[job.name] = number

    async def _note_progress(self, manager: LeasedJobManager) -> None:
        for job_id in list(self._reports):
            await self._note_one(manager, job_id)

    async def _note_one(self, manager: LeasedJobManager, job_id: int) -> None:
        # One write at a time, so that an older report never replaces a newer one.
        async with self._noting:
            progress = self._reports.get(job_id)
            if progress is not None and progress != self._noted.get(job_id):
                await manager.note_progress(job_id, *progress)
                self._noted[job_id] = progress


async def repeat(task: Callable[[], Awaitable[object]], every_s: float) -> None:
    """Run a task at an interval until the present task is cancelled. A failed run does not end it."""
    while True:
        try:
            await task()
        except Exception as error:
            log.warning("job.maintenance_failed", error=describe(error))
        raise_if_cancelled()
        await asyncio.sleep(every_s)


async def cancel_when_set(stop: threading.Event, serving: asyncio.Task[None], manager: LeasedJobManager) -> None:
    """Start the drain. Procrastinate documents the cancellation of the worker for this.

    A cancellation during the registration of the worker can be lost, so wait for its end.
    """
    while not stop.is_set():
        await asyncio.sleep(STOP_POLL_S)
    deadline = time.monotonic() + REGISTRATION_S
    while manager.worker_id is None and not serving.done() and time.monotonic() < deadline:
        await asyncio.sleep(STOP_POLL_S)
    serving.cancel()


async def _in_thread(run: Run, call: JobRun) -> BaseException | None:
    """Run a call in a new thread and return the exception that it raised.

    The thread is a daemon: a run that is longer than the grace period must not block the exit of the process.
    """
    loop = asyncio.get_running_loop()
    ended: asyncio.Future[BaseException | None] = loop.create_future()

    def settle(error: BaseException | None) -> None:
        if not ended.done():
            ended.set_result(error)

    def target() -> None:
        outcome: BaseException | None = None
        try:
            run(call)
        except BaseException as error:  # every exception is a failure of the run, not of the worker
            outcome = error
        with contextlib.suppress(RuntimeError):  # the loop is closed and the call is back in the queue
            loop.call_soon_threadsafe(settle, outcome)

    threading.Thread(target=target, name=f"job-{call.id}", daemon=True).start()
    return await ended
