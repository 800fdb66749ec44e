"""Fixtures of the contract, a worker in the process of the test, and a recorder of runs."""

import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

import pytest
import sqlalchemy as sa

from app.core.jobs import Job, JobCall
from app.drivers.jobs.port import JobEngine, JobRun, JobState, Run
from tests.drivers.jobs.processes import job_engine_for, open_engine
from tests.drivers.jobs.stores import FAST


def until(condition: Callable[[], object], within_s: float = 60.0) -> None:
    """Wait until the condition is true. Fail after `within_s`."""
    deadline = time.monotonic() + within_s
    while not condition():
        assert time.monotonic() < deadline, "the condition did not become true"
        time.sleep(0.01)


@contextmanager
def running_worker(
    jobs: JobEngine, run: Run, declared: Mapping[str, Job] | None = None, concurrency: int = 2
) -> Iterator[None]:
    """Run a worker in this process."""
    stop = threading.Event()
    options = {"jobs": declared or {}, "stop": stop, "concurrency": concurrency}
    thread = threading.Thread(target=jobs.work, args=(run,), kwargs=options)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join(60)
        assert not thread.is_alive(), "the worker did not stop"


DONE = (JobState.SUCCEEDED, None)
"""The states of a call after its work. An engine may delete it if another call with its key does the work."""


class Recorder:
    """A job function that records its runs and then calls `behave`."""

    def __init__(self, behave: Callable[[JobRun], object] = lambda call: None) -> None:
        self.runs: list[JobRun] = []
        self.times: list[float] = []
        self._behave = behave

    def __call__(self, call: JobRun) -> None:
        self.times.append(time.monotonic())
        self.runs.append(call)
        self._behave(call)

    @property
    def names(self) -> list[str]:
        return [call.name for call in self.runs]


def failing(error: Exception, times: int = 1_000) -> Callable[[JobRun], None]:
    """Return a behaviour that raises in the first `times` runs."""
    remaining = [times]

    def behave(call: JobRun) -> None:
        remaining[0] -= 1
        if remaining[0] >= 0:
            raise error

    return behave


class Suite:
    """The fixtures of all classes of the contract."""

    @pytest.fixture
    def database(self, url: str) -> Iterator[sa.Engine]:
        engine = open_engine(url)
        with engine.begin() as connection:
            job_engine_for(engine, FAST).install(connection)
        yield engine
        with engine.begin() as connection:
            job_engine_for(engine, FAST).uninstall(connection)
        engine.dispose()

    @pytest.fixture
    def jobs(self, database: sa.Engine) -> JobEngine:
        return job_engine_for(database, FAST)

    @pytest.fixture
    def defer(self, jobs: JobEngine, database: sa.Engine) -> Callable[..., str | None]:
        def add(name: str, **options: object) -> str | None:
            with database.begin() as connection:
                return jobs.defer(connection, JobCall(name, **options))

        return add

    @pytest.fixture
    def state(self, jobs: JobEngine, database: sa.Engine) -> Callable[[str], JobState | None]:
        def read(job_id: str) -> JobState | None:
            with database.begin() as connection:
                status = jobs.status(connection, job_id)
            return status and status.state

        return read
