"""The job worker's process: plain Python, never monkey-patched; runs each call in an application context of its own.

Knows no job by name and no store; the engine decides when a call runs again.
"""

import logging
import os
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable, Mapping
from functools import partial
from types import FrameType

import structlog
from flask import Flask

from app.core import causes
from app.core.jobs import Job, registry
from app.drivers.jobs.policy import CONCURRENCY, describe
from app.drivers.jobs.port import JobEngine, JobRun
from app.extensions import db, drivers

SIGNAL_POLL_S = 0.2
EXIT_WITHIN_S = 28.0
"""After the stop, including the engine's grace of 25 s: a supervisor kills after 30 s (limits, section 3)."""

PROGRESS = "progress"
"""The word in a job's `uses` that stands for `progress(done, total)` instead of a driver."""

log = structlog.get_logger()


class UnknownJobError(Exception):
    """No job of that name is declared here; the worker of a newer version may know it."""


class Runner:
    """Runs one call: the declared function, its drivers, one commit. Its lines never tell a call's arguments."""

    def __init__(self, app: Flask, jobs: Mapping[str, Job], report: Callable[[str, int, int | None], None]) -> None:
        self._app, self._jobs, self._report = app, jobs, report
        self._running: set[str] = set()

    @property
    def is_busy(self) -> bool:
        """Whether a call is running in any thread."""
        return bool(self._running)

    def __call__(self, call: JobRun) -> None:
        """Run a call in this thread; what it raises is logged and passed on."""
        with causes.resumed(call.cause, f"job {call.name}"):
            self._run(call)

    def _run(self, call: JobRun) -> None:
        lines = log.bind(job=call.name, job_id=call.id, attempt=call.attempt)
        lines.info("job_started")
        started = time.monotonic()
        self._running.add(call.id)
        try:
            with self._app.app_context():
                self._perform(call)
        except BaseException as error:
            lines.warning("job_failed", error=describe(error), at=_place(error), duration_ms=_since_ms(started))
            raise
        finally:
            self._running.discard(call.id)
        lines.info("job_finished", duration_ms=_since_ms(started))

    def _perform(self, call: JobRun) -> None:
        declared = self._jobs.get(call.name)
        if declared is None:
            raise UnknownJobError(call.name)
        given = {word: self._supply(word, call.id) for word in declared.uses}
        try:
            declared.run(**call.args, **given)
            db.session.commit()
        except BaseException:
            db.session.rollback()
            raise

    def _supply(self, word: str, job_id: str) -> object:
        return partial(self._report, job_id) if word == PROGRESS else drivers[word]


def run_worker(app: Flask, *, jobs: Mapping[str, Job] = registry, concurrency: int = CONCURRENCY) -> None:
    """Run the app's jobs until SIGTERM or SIGINT, then take no more, let the running end or hand them back, and return.

    Ends the process itself where a run outlasts its grace, since its thread cannot be ended.

    Raises:
        RuntimeError: the process is monkey-patched, or the engine gave up by itself.
    """
    if _is_patched():
        raise RuntimeError("The worker needs real threads; start it in a process that gevent has not patched")
    engine: JobEngine = app.extensions["jobs"]
    runner, stop, signalled = Runner(app, jobs, engine.report), threading.Event(), _Signalled()
    work = partial(engine.work, runner, jobs=jobs, stop=stop, concurrency=concurrency)
    working = threading.Thread(target=work, name="job-engine", daemon=True)
    with signalled:
        log.info("worker_started", concurrency=concurrency, jobs=len(jobs))
        working.start()
        while working.is_alive() and not signalled.yes:
            working.join(SIGNAL_POLL_S)
        if not signalled.yes:
            raise RuntimeError("The job engine ended by itself")
        stop.set()
        working.join(EXIT_WITHIN_S)
    log.info("worker_stopped", cut_off=runner.is_busy)
    if runner.is_busy or working.is_alive():
        logging.shutdown()
        os._exit(0)


class _Signalled:
    """Whether the process was asked to stop.

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


def _place(error: BaseException) -> str:
    """Where an error was raised; a full traceback would quote values."""
    frames = traceback.extract_tb(error.__traceback__)
    return f"{frames[-1].filename}:{frames[-1].lineno}" if frames else ""


def _since_ms(started: float) -> int:
    return round((time.monotonic() - started) * 1000)
