"""The process of the job worker. It is not monkey-patched, and runs each call in a separate application context."""

import logging
import os
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from functools import partial
from types import FrameType

import structlog
from flask import Flask
from structlog.typing import FilteringBoundLogger

from app.core.jobs import Job, registry
from app.database import transactions
from app.database.errors import is_vanished_row
from app.drivers.jobs.port import JobEngine, JobRun
from app.drivers.jobs.retry_policy import CONCURRENCY, describe
from app.extensions import drivers
from app.observability import correlation

SIGNAL_POLL_S = 0.2
EXIT_WITHIN_S = 28.0
"""Seconds from the stop signal to the exit, with the grace period of 25 s. A supervisor kills after 30 s."""

MAX_RUNS = 3
"""Runs of a call in succession whose rows are deleted by other transactions."""

PROGRESS = "progress"
"""Name in `uses` of a job for the function `progress(done, total)` instead of a driver."""

log = structlog.get_logger()


class UnknownJobError(Exception):
    """A job name that this version does not declare. The worker of a newer version may know it."""


class JobRunner:
    """A runner of job calls: context, function and drivers. It never logs the arguments of a call."""

    def __init__(self, app: Flask, jobs: Mapping[str, Job], report: Callable[[str, int, int | None], None]) -> None:
        self._app, self._jobs, self._report = app, jobs, report
        self._running: set[str] = set()

    @property
    def is_busy(self) -> bool:
        """Return whether a call runs in any thread."""
        return bool(self._running)

    def __call__(self, call: JobRun) -> None:
        """Run a call in this thread. Exceptions are logged and raised again."""
        with correlation.restore_context(call.context, f"job {call.name}"):
            self._run(call)

    def _run(self, call: JobRun) -> None:
        lines = log.bind(job=call.name, job_id=call.id, attempt=call.attempt)
        lines.debug("job.started")
        started = time.monotonic()
        self._running.add(call.id)
        try:
            self._run_until_rows_stay(call, lines)
        except BaseException as error:
            lines.warning(
                "job.failed", error=describe(error), at=_error_location(error), duration_ms=_since_ms(started)
            )
            raise
        finally:
            self._running.discard(call.id)
        lines.debug("job.finished", duration_ms=_since_ms(started))

    def _run_until_rows_stay(self, call: JobRun, lines: FilteringBoundLogger) -> None:
        """Run a call. Run it again if another transaction deleted a row that it uses, for example with a project.

        The next run reads which rows exist. Jobs are idempotent and end if their object no longer exists.
        """
        for remaining in reversed(range(MAX_RUNS)):
            try:
                with transactions.reading_context(self._app):
                    return self._run_function(call)
            except Exception as error:
                if not remaining or not is_vanished_row(error):
                    raise
                lines.info("job.row_vanished", error=describe(error), at=_error_location(error))
        raise AssertionError("unreachable")

    def _run_function(self, call: JobRun) -> None:
        declared = self._jobs.get(call.name)
        if declared is None:
            raise UnknownJobError(call.name)
        dependencies = {dependency: self._resolve_dependency(dependency, call.id) for dependency in declared.uses}
        with transactions.write_transaction() if declared.transaction else nullcontext():
            declared.run(**call.args, **dependencies)

    def _resolve_dependency(self, dependency: str, job_id: str) -> object:
        return partial(self._report, job_id) if dependency == PROGRESS else getattr(drivers, dependency)


def run_worker(app: Flask, *, jobs: Mapping[str, Job] = registry, concurrency: int = CONCURRENCY) -> None:
    """Run jobs until SIGTERM or SIGINT, then wait for running calls or return them to the queue.

    The function exits the process if a call runs longer than the grace period, because a thread cannot be stopped.

    Raises:
        RuntimeError: the process is monkey-patched, or the engine stopped without a signal.
    """
    if _is_patched():
        raise RuntimeError("The worker requires threads. Start it in a process that gevent has not patched")
    engine: JobEngine = app.extensions["jobs"]
    runner, stop, signalled = JobRunner(app, jobs, engine.report), threading.Event(), _StopSignal()
    work = partial(engine.work, runner, jobs=jobs, stop=stop, concurrency=concurrency)
    working = threading.Thread(target=work, name="job-engine", daemon=True)
    with signalled:
        log.info("worker.started", concurrency=concurrency, jobs=len(jobs))
        working.start()
        while working.is_alive() and not signalled.yes:
            working.join(SIGNAL_POLL_S)
        if not signalled.yes:
            raise RuntimeError("The job engine stopped without a signal")
        stop.set()
        working.join(EXIT_WITHIN_S)
    log.info("worker.stopped", cut_off=runner.is_busy)
    if runner.is_busy or working.is_alive():
        logging.shutdown()
        os._exit(0)


class _StopSignal:
    """A flag that is set by a stop signal.

    The handler only sets a flag: `Event.set` in a handler can wait for a lock that the interrupted thread holds.
    """

    def __init__(self) -> None:
        self.yes = False
        self._before: dict[signal.Signals, object] = {}

    def __enter__(self) -> None:
        for number in (signal.SIGTERM, signal.SIGINT):
            self._before[number] = signal.signal(number, self._note)

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)  # type: ignore[arg-type]

    def _note(self, _number: int, _frame: FrameType | None) -> None:
        self.yes = True


def _is_patched() -> bool:
    patching = sys.modules.get("gevent.monkey")
    return patching is not None and bool(patching.is_module_patched("threading"))


def _error_location(error: BaseException) -> str:
    """Return the file and line of an error. A complete traceback would contain values."""
    frames = traceback.extract_tb(error.__traceback__)
    return f"{frames[-1].filename}:{frames[-1].lineno}" if frames else ""


def _since_ms(started: float) -> int:
    return round((time.monotonic() - started) * 1000)
