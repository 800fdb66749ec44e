"""The worker of the embedded engine: threads that run claimed calls, and a maintenance thread."""

import random
import threading
import time
import uuid
from collections.abc import Callable, Mapping
from functools import partial
from typing import TypeVar

import sqlalchemy as sa
import structlog

from app.core.jobs import Job, JobCall
from app.database.engines import reading_options
from app.drivers.jobs import retry_policy
from app.drivers.jobs.embedded import queue
from app.drivers.jobs.embedded.queue import ClaimedCall
from app.drivers.jobs.port import JobRun, JobState, Run
from app.drivers.jobs.retry_policy import JobTimings

T = TypeVar("T")
FINISH_TIMEOUT_S = 60.0
MAINTENANCE_TIMEOUT_S = 5.0
PURGE_INTERVAL_S = 60.0
FAULT_PAUSE_S = 1.0
CLOCK_WENT_BACK_S = 5.0
"""A smaller step backwards is a correction of the clock, and is ignored."""

log = structlog.get_logger()


class EmbeddedWorker:
    """A worker. Its random name is the owner of its leases."""

    def __init__(
        self,
        engine: sa.Engine,
        timing: JobTimings,
        run: Run,
        jobs: Mapping[str, Job],
        reports: dict[int, tuple[int, int | None]],
    ) -> None:
        self._engine, self._timing, self._run, self._jobs = engine, timing, run, jobs
        self._periodic = frozenset(job.name for job, _ in retry_policy.periodic(jobs))
        self._outbound = frozenset(job.name for job in jobs.values() if job.outbound)
        self._reports = reports
        self._name = uuid.uuid4().hex
        self._running: dict[int, threading.Thread] = {}
        self._outbound_ids: set[int] = set()
        self._slots: dict[str, int] = {}
        self._noted: dict[int, tuple[int, int | None]] = {}
        self._ahead_s: float | None = None
        self._wake = threading.Event()
        self._ended = threading.Event()

    def work(self, stop: threading.Event, concurrency: int) -> None:
        """Run calls until `stop` is set, then drain."""
        maintenance = threading.Thread(target=self._run_maintenance, name="job-maintenance", daemon=True)
        maintenance.start()
        threading.Thread(target=self._wake_at, args=(stop,), name="job-stop", daemon=True).start()
        try:
            while not stop.is_set():
                if not self._start_some(concurrency):
                    self._wake.wait(self._timing.poll_s)
                    self._wake.clear()
            self._drain()
        finally:
            self._ended.set()
            maintenance.join()

    def _wake_at(self, stop: threading.Event) -> None:
        """End the pause between two polls when `stop` is set."""
        stop.wait()
        self._wake.set()

    def _start_some(self, concurrency: int) -> bool:
        """Claim and start due calls. Return False if there was none or no free thread."""
        outbound, name = len(self._outbound_ids), queue.CALLS.c.name
        own = self._start(name.not_in(self._outbound), concurrency - len(self._running) + outbound)
        return self._start(name.in_(self._outbound), retry_policy.OUTBOUND_CONCURRENCY - outbound) or own

    def _start(self, names: sa.ColumnElement[bool], free: int) -> bool:
        if free <= 0:
            return False
        try:
            if not self._read(lambda c: queue.is_due(c, names)):
                return False
            claims = self._write(
                lambda c: queue.claim(c, self._name, free, self._timing.lease_s, names), MAINTENANCE_TIMEOUT_S
            )
        except Exception as error:
            log.warning("job.claim_failed", error=retry_policy.describe(error))
            time.sleep(FAULT_PAUSE_S)
            return False
        for claimed in claims:
            thread = threading.Thread(target=self._perform, args=(claimed,), name=f"job-{claimed.id}", daemon=True)
            self._running[claimed.id] = thread
            if claimed.name in self._outbound:
                self._outbound_ids.add(claimed.id)
            thread.start()
        return bool(claims)

    def _perform(self, claimed: ClaimedCall) -> None:
        """Run one call and write its outcome."""
        try:
            self._run(JobRun(str(claimed.id), claimed.name, claimed.args, claimed.attempt, claimed.context))
        except BaseException as error:  # every exception is a failure of the run, not of the worker
            self._finish(claimed, error)
        else:
            self._finish(claimed, None)
        finally:
            self._reports.pop(claimed.id, None)
            self._outbound_ids.discard(claimed.id)
            self._running.pop(claimed.id, None)
            self._wake.set()

    def _finish(self, claimed: ClaimedCall, error: BaseException | None) -> None:
        """Write the outcome and retry while the database is busy.

        If this fails, the call runs again after its lease.
        """

        def write(connection: sa.Connection) -> bool:
            if progress := self._reports.get(claimed.id):
                queue.note_progress(connection, claimed.id, *progress)
            failures = claimed.failures + 1
            again = error is not None and retry_policy.may_retry(self._jobs, claimed.name, failures, error)
            if not again and claimed.name in self._periodic:
                queue.forget_failures(connection, claimed)
            if error is None:
                return queue.succeed(connection, claimed)
            wait_s = self._timing.backoff_s(failures, error) if again else None
            final = JobState.FAILED if claimed.name in self._periodic else JobState.DEAD
            return queue.fail(connection, claimed, retry_policy.describe(error), wait_s, final)

        try:
            if not self._write(write, FINISH_TIMEOUT_S):
                log.warning("job.lease_lost", job=claimed.name, job_id=claimed.id)
        except Exception as fault:
            log.exception(
                "job.outcome_write_failed", job=claimed.name, job_id=claimed.id, error=retry_policy.describe(fault)
            )

    def _drain(self) -> None:
        """Wait for running calls within the grace period, then return the others to the queue."""
        deadline = time.monotonic() + self._timing.grace_s
        for thread in list(self._running.values()):
            thread.join(max(0.0, deadline - time.monotonic()))
        if self._running:
            self._try(self._hand_back)

    def _hand_back(self) -> None:
        count = self._write(lambda c: queue.hand_back(c, self._name), MAINTENANCE_TIMEOUT_S)
        log.info("job.calls_returned", count=count)

    def _run_maintenance(self) -> None:
        """Run the maintenance tasks, each at its interval. A failed task is retried at the next interval."""
        timing = self._timing
        # Renew before requeueing: after a delay, this worker must not requeue its own calls.
        tasks = [
            (self._follow_clock, timing.progress_s),
            (self._renew, timing.heartbeat_s),
            (lambda: self._write(queue.record_heartbeat, MAINTENANCE_TIMEOUT_S), timing.heartbeat_s),
            (self._requeue_expired, timing.sweep_s),
            (self._fire, timing.progress_s),
            (self._note_progress, timing.progress_s),
            (
                lambda: self._write(lambda c: queue.purge(c, timing, self._periodic), MAINTENANCE_TIMEOUT_S),
                PURGE_INTERVAL_S,
            ),
        ]
        due = [0.0] * len(tasks)
        while True:
            for index, (task, every_s) in enumerate(tasks):
                if time.monotonic() >= due[index]:
                    due[index] = time.monotonic() + every_s
                    self._try(task)
            if self._ended.wait(min(every_s for _, every_s in tasks) / 2):
                return

    def _try(self, task: Callable[[], object]) -> None:
        try:
            task()
        except Exception as error:
            log.warning("job.maintenance_failed", error=retry_policy.describe(error))

    def _follow_clock(self) -> None:
        """Detect with the monotonic clock that the clock of the database went back."""
        ahead_s = self._read(queue.clock) - time.monotonic()
        before_s, self._ahead_s = self._ahead_s, ahead_s
        if before_s is not None and (by_s := before_s - ahead_s) > CLOCK_WENT_BACK_S:
            self._write(lambda c: queue.rewind_times(c, by_s, self._timing.lease_s), MAINTENANCE_TIMEOUT_S)
            log.warning("job.clock_set_back", by_s=round(by_s))

    def _renew(self) -> None:
        ids = list(self._running)
        if ids:
            self._write(lambda c: queue.renew(c, self._name, ids, self._timing.lease_s), MAINTENANCE_TIMEOUT_S)

    def _requeue_expired(self) -> None:
        mine = list(self._running)
        if self._read(lambda c: queue.expired_ids(c, mine)):
            again, dead = self._write(
                lambda c: queue.requeue_expired(c, mine, self._timing.poison_limit, self._periodic),
                MAINTENANCE_TIMEOUT_S,
            )
            log.warning("job.leases_expired", waiting=again, dead=dead)

    def _fire(self) -> None:
        """Enqueue the periodic jobs of a new period."""
        recurring = retry_policy.periodic(self._jobs)
        now_s = self._read(queue.clock) if recurring else 0.0
        for job, every in recurring:
            number = retry_policy.slot(now_s, every)
            if self._slots.get(job.name) != number:
                self._write(partial(_fire_one, job, number), MAINTENANCE_TIMEOUT_S)
                self._slots[job.name] = number

    def _note_progress(self) -> None:
        reports = dict(self._reports)
        for job_id, progress in reports.items():
            if self._noted.get(job_id) != progress:
                self._write(partial(_note_one, job_id, progress), MAINTENANCE_TIMEOUT_S)
        self._noted = reports

    def _read(self, read: Callable[[sa.Connection], T]) -> T:
        with self._engine.connect().execution_options(**reading_options(self._engine)) as connection:
            return read(connection)

    def _write(self, write: Callable[[sa.Connection], T], timeout_s: float) -> T:
        """Run one transaction, and retry while another writer holds the lock of SQLite."""
        deadline = time.monotonic() + timeout_s
        while True:
            try:
                with self._engine.begin() as connection:
                    return write(connection)
            except (sa.exc.OperationalError, sa.exc.TimeoutError):
                if time.monotonic() > deadline:
                    raise
                time.sleep(random.uniform(0.01, 0.1))  # noqa: S311 (jitter)


def _fire_one(job: Job, number: int, connection: sa.Connection) -> None:
    if queue.enter_slot(connection, job.name, number):
        queue.add(connection, JobCall(job.name, unique=retry_policy.periodic_key(job.name), priority=job.priority))


def _note_one(job_id: int, progress: tuple[int, int | None], connection: sa.Connection) -> None:
    queue.note_progress(connection, job_id, *progress)
