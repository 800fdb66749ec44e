"""A worker in the test's own process, runs that are remembered, and the fixtures of every part of the contract."""

import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

import pytest
import sqlalchemy as sa

from app.core.jobs import Job, JobCall
from app.drivers.jobs.port import JobEngine, JobRun, JobState, Run
from tests.drivers.jobs.processes import jobs_on, open_engine
from tests.drivers.jobs.stores import FAST


def until(condition: Callable[[], object], within_s: float = 8.0) -> None:
    """Wait for a condition; fail when it does not come true."""
    deadline = time.monotonic() + within_s
    while not condition():
        assert time.monotonic() < deadline, "what was waited for did not happen"
        time.sleep(0.01)


@contextmanager
def working(
    jobs: JobEngine, run: Run, declared: Mapping[str, Job] | None = None, concurrency: int = 2
) -> Iterator[None]:
    """A worker in this process."""
    stop = threading.Event()
    options = {"jobs": declared or {}, "stop": stop, "concurrency": concurrency}
    thread = threading.Thread(target=jobs.work, args=(run,), kwargs=options)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join(10)
        assert not thread.is_alive(), "the worker did not stop"


class Recorder:
    """Runs that are remembered, and behave as told."""

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
    """Behaviour: raise on the first `times` runs."""
    left = [times]

    def behave(call: JobRun) -> None:
        left[0] -= 1
        if left[0] >= 0:
            raise error

    return behave


class Suite:
    """The fixtures and small steps every class below uses."""

    @pytest.fixture
    def database(self, url: str) -> Iterator[sa.Engine]:
        engine = open_engine(url)
        with engine.begin() as connection:
            jobs_on(engine, FAST).install(connection)
        yield engine
        with engine.begin() as connection:
            jobs_on(engine, FAST).uninstall(connection)
        engine.dispose()

    @pytest.fixture
    def jobs(self, database: sa.Engine) -> JobEngine:
        return jobs_on(database, FAST)

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
                found = jobs.status(connection, job_id)
            return found and found.state

        return read
