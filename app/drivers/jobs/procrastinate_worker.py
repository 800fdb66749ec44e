"""Procrastinate's worker, running our synchronous jobs in threads, and its keeper; knows the manager's statements only."""

import asyncio
import contextlib
import datetime
import logging
import threading
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Any, cast

import procrastinate
import structlog
from procrastinate import exceptions, job_context, jobs, retry

from app.core.jobs import Job
from app.drivers.jobs.policy import Timing, describe, may_retry, periodic, slot
from app.drivers.jobs.port import JobRun, Run
from app.drivers.jobs.procrastinate_ledger import QUEUE, TASK
from app.drivers.jobs.procrastinate_manager import FAULT_PAUSE_S, LeasedJobManager

PURGE_EVERY_S = 60.0
STOP_POLL_S = 0.1
CONNECT_TIMEOUT_S = 5

log = structlog.get_logger()


class _RunFailedError(Exception):
    """A failed run; `wait_s` until the next one, or None when there is none."""

    def __init__(self, wait_s: float | None) -> None:
        super().__init__("the run failed")
        self.wait_s = wait_s


class _AsTold(retry.BaseRetryStrategy):
    """Retries as `_RunFailedError` says; a run that was cut off by the worker's own end waits again at once."""

    def get_retry_decision(self, *, exception: BaseException, job: jobs.Job) -> retry.RetryDecision | None:
        if isinstance(exception, _RunFailedError) and exception.wait_s is None:
            return None
        wait_s = exception.wait_s or 0.0 if isinstance(exception, _RunFailedError) else 0.0
        return retry.RetryDecision(retry_at=datetime.datetime.now(datetime.UTC) + datetime.timedelta(seconds=wait_s))


class ProcrastinateWorker:
    """One worker; it starts anew when the database was away at a bad moment."""

    def __init__(
        self,
        url: str,
        timing: Timing,
        run: Run,
        jobs: Mapping[str, Job],
        reports: dict[int, tuple[int, int | None]],
    ) -> None:
        self._url, self._timing, self._run, self._jobs = url, timing, run, jobs
        self._reports = reports
        self._noted: dict[int, tuple[int, int | None]] = {}
        self._slots: dict[str, int] = {}

    def work(self, stop: threading.Event, concurrency: int) -> None:
        """Run calls until `stop`, then drain."""
        # Its own lines tell a job's arguments; ours, written by whoever gives `run`, do not.
        logging.getLogger("procrastinate").setLevel(logging.WARNING)
        logging.getLogger("procrastinate.worker").setLevel(logging.CRITICAL)
        logging.getLogger(f"procrastinate.worker.{QUEUE}").setLevel(logging.WARNING)
        while not stop.is_set():
            try:
                asyncio.run(self._serve(stop, concurrency))
            except Exception as error:
                log.warning("job_worker_restarts", error=describe(error))
                stop.wait(FAULT_PAUSE_S)

    async def _serve(self, stop: threading.Event, concurrency: int) -> None:
        """Connect and run one worker until `stop`."""
        self._noting = asyncio.Lock()
        pool: dict[str, Any] = {"min_size": 1, "max_size": 4, "timeout": 10.0}
        pool["kwargs"] = {"connect_timeout": CONNECT_TIMEOUT_S, "application_name": "galley-worker"}
        app = procrastinate.App(connector=procrastinate.PsycopgConnector(conninfo=self._url, **pool))
        app.job_manager = manager = LeasedJobManager(app.connector)
        app.task(name=TASK, queue=QUEUE, pass_context=True, retry=_AsTold())(partial(self._perform, manager))
        async with app.open_async():
            serving = asyncio.create_task(self._start(app, concurrency))
            keeping = asyncio.create_task(self._keep(manager))
            stopping = asyncio.create_task(_cancel_when_set(stop, serving))
            try:
                await serving
            except asyncio.CancelledError:
                log.info("job_worker_drained")
            finally:
                keeping.cancel()
                stopping.cancel()
                await asyncio.gather(keeping, stopping, return_exceptions=True)

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
        """Run one call, then tell Procrastinate how it ended."""
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

    async def _keep(self, manager: LeasedJobManager) -> None:
        """Do the worker's chores, each at its interval, until cancelled; a failing one is tried again at the next."""
        timing = self._timing
        chores: list[tuple[Callable[[], Awaitable[object]], float]] = [
            (lambda: self._beat(manager), timing.heartbeat_s),
            (lambda: self._take_back(manager), timing.sweep_s),
            (lambda: self._fire(manager), timing.progress_s),
            (lambda: self._note_progress(manager), timing.progress_s),
            (lambda: manager.purge(timing), PURGE_EVERY_S),
        ]
        await asyncio.gather(*(_repeat(chore, every_s) for chore, every_s in chores))

    async def _beat(self, manager: LeasedJobManager) -> None:
        # Procrastinate's own heartbeat ends when draining begins, and its lease may then end before the grace does.
        if manager.worker_id is not None:
            await manager.update_heartbeat(manager.worker_id)

    async def _take_back(self, manager: LeasedJobManager) -> None:
        if moved := await manager.take_back(self._timing):
            log.warning("jobs_taken_back", waiting=len(moved.get("todo", ())), dead=len(moved.get("failed", ())))

    async def _fire(self, manager: LeasedJobManager) -> None:
        """Enqueue the periodic jobs whose period began."""
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
        # One at a time, so that an older report never overtakes the last one.
        async with self._noting:
            progress = self._reports.get(job_id)
            if progress is not None and progress != self._noted.get(job_id):
                await manager.note_progress(job_id, *progress)
                self._noted[job_id] = progress


async def _repeat(chore: Callable[[], Awaitable[object]], every_s: float) -> None:
    while True:
        try:
            await chore()
        except Exception as error:
            log.warning("job_chore_failed", error=describe(error))
        await asyncio.sleep(every_s)


async def _cancel_when_set(stop: threading.Event, serving: asyncio.Task[None]) -> None:
    """Begin draining: Procrastinate's documented way is to cancel its worker."""
    while not stop.is_set():
        await asyncio.sleep(STOP_POLL_S)
    serving.cancel()


async def _in_thread(run: Run, call: JobRun) -> BaseException | None:
    """Run a call in a thread of its own; returns what it raised.

    The thread is a daemon: a run that outlasts the grace must not keep the process from exiting.
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
        except BaseException as error:  # whatever ends a run is the run's failure, not the worker's
            outcome = error
        with contextlib.suppress(RuntimeError):  # the loop is closed: the call was handed back meanwhile
            loop.call_soon_threadsafe(settle, outcome)

    threading.Thread(target=target, name=f"job-{call.id}", daemon=True).start()
    return await ended
