"""The embedded engine's worker: threads that run claimed calls, and one that keeps their leases and the clockwork.

Knows the ledger; what a job does is the caller's `run`.
"""

import random
import threading
import time
import uuid
from collections.abc import Callable, Mapping
from functools import partial
from typing import TypeVar

import sqlalchemy as sa
import structlog

from app.core.database import reading_options
from app.core.errors import Unavailable
from app.core.jobs import Job, JobCall
from app.drivers.jobs import embedded_ledger as ledger
from app.drivers.jobs.embedded_ledger import Claim
from app.drivers.jobs.policy import Timing, describe, may_retry, periodic, periodic_key, slot
from app.drivers.jobs.port import JobRun, Run

T = TypeVar("T")
FINISH_PATIENCE_S = 60.0
CHORE_PATIENCE_S = 5.0
PURGE_EVERY_S = 60.0
FAULT_PAUSE_S = 1.0
CLOCK_WENT_BACK_S = 5.0
"""Less than this, backwards, is a clock being set right, and waited out."""

log = structlog.get_logger()


class EmbeddedWorker:
    """One worker; its random name owns the leases it holds."""

    def __init__(
        self,
        engine: sa.Engine,
        timing: Timing,
        run: Run,
        jobs: Mapping[str, Job],
        reports: dict[int, tuple[int, int | None]],
    ) -> None:
        self._engine, self._timing, self._run, self._jobs = engine, timing, run, jobs
        self._reports = reports
        self._name = uuid.uuid4().hex
        self._running: dict[int, threading.Thread] = {}
        self._slots: dict[str, int] = {}
        self._noted: dict[int, tuple[int, int | None]] = {}
        self._ahead_s: float | None = None
        self._freed = threading.Event()
        self._ended = threading.Event()

    def work(self, stop: threading.Event, concurrency: int) -> None:
        """Run calls until `stop`, then drain."""
        keeper = threading.Thread(target=self._keep, name="job-keeper", daemon=True)
        keeper.start()
        try:
            while not stop.is_set():
                if not self._start_some(concurrency - len(self._running)):
                    self._freed.wait(self._timing.poll_s)
                    self._freed.clear()
            self._drain()
        finally:
            self._ended.set()
            keeper.join()

    def _start_some(self, free: int) -> bool:
        """Claim and start what is due; False when there was nothing or no room."""
        if free <= 0:
            return False
        try:
            if not self._read(ledger.is_due):
                return False
            claims = self._write(lambda c: ledger.claim(c, self._name, free, self._timing.lease_s), CHORE_PATIENCE_S)
        except Exception as error:
            log.warning("job_claim_failed", error=describe(error))
            time.sleep(FAULT_PAUSE_S)
            return False
        for claimed in claims:
            thread = threading.Thread(target=self._perform, args=(claimed,), name=f"job-{claimed.id}", daemon=True)
            self._running[claimed.id] = thread
            thread.start()
        return bool(claims)

    def _perform(self, claimed: Claim) -> None:
        """Run one call and write its outcome."""
        try:
            self._run(JobRun(str(claimed.id), claimed.name, claimed.args, claimed.attempt, claimed.cause))
        except BaseException as error:  # whatever ends a run is the run's failure, not the worker's
            self._finish(claimed, error)
        else:
            self._finish(claimed, None)
        finally:
            self._reports.pop(claimed.id, None)
            self._running.pop(claimed.id, None)
            self._freed.set()

    def _finish(self, claimed: Claim, error: BaseException | None) -> None:
        """Write the outcome, outlasting a busy database; what cannot be written is taken back when the lease ends."""

        def write(connection: sa.Connection) -> bool:
            if progress := self._reports.get(claimed.id):
                ledger.note_progress(connection, claimed.id, *progress)
            if error is None:
                return ledger.succeed(connection, claimed)
            failures = claimed.failures + 1
            again = may_retry(self._jobs, claimed.name, failures, error)
            wait_s = self._timing.backoff_s(failures, error) if again else None
            return ledger.fail(connection, claimed, describe(error), wait_s)

        try:
            if not self._write(write, FINISH_PATIENCE_S):
                log.warning("job_lease_lost", job=claimed.name, job_id=claimed.id)
        except Exception as fault:
            log.exception("job_outcome_not_written", job=claimed.name, job_id=claimed.id, error=describe(fault))

    def _drain(self) -> None:
        """Let running calls end within the grace, then hand the others back."""
        deadline = time.monotonic() + self._timing.grace_s
        for thread in list(self._running.values()):
            thread.join(max(0.0, deadline - time.monotonic()))
        if self._running:
            self._try(self._hand_back)

    def _hand_back(self) -> None:
        given = self._write(lambda c: ledger.hand_back(c, self._name), CHORE_PATIENCE_S)
        log.info("jobs_handed_back", count=given)

    def _keep(self) -> None:
        """Do the worker's chores, each at its interval; a failing one is tried again at the next."""
        timing = self._timing
        # Renewing stands before taking back: a keeper that was held up must not take its own calls for lost.
        chores = [
            (self._follow_clock, timing.progress_s),
            (self._renew, timing.heartbeat_s),
            (lambda: self._write(ledger.beat, CHORE_PATIENCE_S), timing.heartbeat_s),
            (self._take_back, timing.sweep_s),
            (self._fire, timing.progress_s),
            (self._note_progress, timing.progress_s),
            (lambda: self._write(lambda c: ledger.purge(c, timing), CHORE_PATIENCE_S), PURGE_EVERY_S),
        ]
        due = [0.0] * len(chores)
        while True:
            for index, (chore, every_s) in enumerate(chores):
                if time.monotonic() >= due[index]:
                    due[index] = time.monotonic() + every_s
                    self._try(chore)
            if self._ended.wait(min(every_s for _, every_s in chores) / 2):
                return

    def _try(self, chore: Callable[[], object]) -> None:
        try:
            chore()
        except Exception as error:
            log.warning("job_chore_failed", error=describe(error))

    def _follow_clock(self) -> None:
        """Notice, by the clock that never goes back, that the database's has."""
        ahead_s = self._read(ledger.clock) - time.monotonic()
        before_s, self._ahead_s = self._ahead_s, ahead_s
        if before_s is not None and (by_s := before_s - ahead_s) > CLOCK_WENT_BACK_S:
            self._write(lambda c: ledger.follow_back(c, by_s, self._timing.lease_s), CHORE_PATIENCE_S)
            log.warning("job_clock_went_back", by_s=round(by_s))

    def _renew(self) -> None:
        ids = list(self._running)
        if ids:
            self._write(lambda c: ledger.renew(c, self._name, ids, self._timing.lease_s), CHORE_PATIENCE_S)

    def _take_back(self) -> None:
        mine = list(self._running)
        if self._read(lambda c: ledger.lost(c, mine)):
            again, dead = self._write(lambda c: ledger.take_back(c, mine, self._timing.poison_limit), CHORE_PATIENCE_S)
            log.warning("jobs_taken_back", waiting=again, dead=dead)

    def _fire(self) -> None:
        """Enqueue the periodic jobs whose period began."""
        recurring = periodic(self._jobs)
        now_s = self._read(ledger.clock) if recurring else 0.0
        for job, every in recurring:
            number = slot(now_s, every)
            if self._slots.get(job.name) != number:
                self._write(partial(_fire_one, job, number), CHORE_PATIENCE_S)
                self._slots[job.name] = number

    def _note_progress(self) -> None:
        seen = dict(self._reports)
        for job_id, progress in seen.items():
            if self._noted.get(job_id) != progress:
                self._write(partial(_note_one, job_id, progress), CHORE_PATIENCE_S)
        self._noted = seen

    def _read(self, read: Callable[[sa.Connection], T]) -> T:
        with self._engine.connect().execution_options(**reading_options(self._engine)) as connection:
            return read(connection)

    def _write(self, write: Callable[[sa.Connection], T], patience_s: float) -> T:
        """Run one transaction, again and again while another writer holds SQLite's lock."""
        deadline = time.monotonic() + patience_s
        while True:
            try:
                with self._engine.begin() as connection:
                    return write(connection)
            except (Unavailable, sa.exc.OperationalError, sa.exc.TimeoutError):
                if time.monotonic() > deadline:
                    raise
                time.sleep(random.uniform(0.01, 0.1))  # noqa: S311 (jitter)


def _fire_one(job: Job, number: int, connection: sa.Connection) -> None:
    if ledger.enter_slot(connection, job.name, number):
        ledger.add(connection, JobCall(job.name, unique=periodic_key(job.name), priority=job.priority))


def _note_one(job_id: int, progress: tuple[int, int | None], connection: sa.Connection) -> None:
    ledger.note_progress(connection, job_id, *progress)
