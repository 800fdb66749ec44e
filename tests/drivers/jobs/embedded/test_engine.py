"""Tests of the embedded engine: the contract and its behaviour on SQLite."""

import sqlite3
import threading
import time
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest
import sqlalchemy as sa

from app.core.jobs import Job, PermanentFailure
from app.drivers.jobs.embedded import queue
from app.drivers.jobs.port import JobRun, JobState
from tests.drivers.jobs import contract
from tests.drivers.jobs.contract import Recorder, running_worker, until
from tests.drivers.jobs.processes import job_engine_for
from tests.drivers.jobs.stores import FAST, sqlite_url
from tests.support.pace import within


class _OnSqlite:
    @pytest.fixture
    def url(self, tmp_path: Path) -> str:
        return sqlite_url(tmp_path)


class TestEnqueueing(_OnSqlite, contract.Enqueueing): ...


class TestUniqueCalls(_OnSqlite, contract.UniqueCalls): ...


class TestLockedCalls(_OnSqlite, contract.LockedCalls): ...


class TestFailedRuns(_OnSqlite, contract.FailedRuns): ...


class TestCallStatus(_OnSqlite, contract.CallStatus): ...


class TestPeriodic(_OnSqlite, contract.Periodic):
    def test_dead_letter_of_a_periodic_job_of_an_earlier_version_is_deleted(self, jobs, database, defer, state):
        job_id = defer("tick")

        def fail(_call: JobRun) -> None:
            raise PermanentFailure("no")

        with running_worker(jobs, Recorder(fail)):
            until(lambda: state(job_id) == JobState.DEAD)
        with running_worker(jobs, Recorder(), {"tick": Job("tick", print, every=timedelta(hours=1))}):
            until(lambda: state(job_id) is None)


class TestOutboundJobs(_OnSqlite, contract.OutboundJobs):
    pass


class TestWorkerFailures(_OnSqlite, contract.WorkerFailures):
    def test_run_longer_than_the_grace_period_is_requeued_without_a_failure(self, jobs, database, defer, state):
        go = threading.Event()
        recorder = Recorder(lambda call: go.wait(60))
        job_id = defer("endless")

        with running_worker(jobs, recorder):
            until(lambda: recorder.runs)
        handed_back = state(job_id)
        go.set()
        with running_worker(job_engine_for(database, FAST), recorder, {"endless": Job("endless", print, retries=0)}):
            until(lambda: state(job_id) == JobState.SUCCEEDED)

        assert handed_back == JobState.WAITING
        assert len(recorder.runs) == 2


class TestTables(_OnSqlite, contract.Tables): ...


class TestBusyDatabase(_OnSqlite, contract.Suite):
    def test_outcome_is_written_after_another_writer(self, jobs, database, defer, state):
        held = threading.Event()
        recorder = Recorder(lambda call: held.wait(60))
        job_id = defer("busy")

        with running_worker(jobs, recorder):
            until(lambda: recorder.runs)
            with database.begin():
                held.set()
                time.sleep(3.5)  # longer than one wait for the write lock
            until(lambda: state(job_id) == JobState.SUCCEEDED)

        assert len(recorder.runs) == 1

    def test_progress_does_not_wait_for_the_transaction_of_the_job(self, jobs, database, defer, state):
        waited_s: list[float] = []

        def behave(call):
            with database.begin():
                started = time.monotonic()
                jobs.report(call.id, 1, 2)
                waited_s.append(time.monotonic() - started)

        job_id = defer("writer")
        with running_worker(jobs, Recorder(behave)):
            until(lambda: state(job_id) == JobState.SUCCEEDED)

        assert waited_s[0] < within(0.05)


class TestClockSetBack(_OnSqlite, contract.Suite):
    """A clock set back delays neither waiting calls nor the calls of a dead worker."""

    @pytest.fixture
    def set_back(self, database: sa.Engine) -> Callable[[float], None]:
        moved_s = [0.0]

        def connected(connection: sqlite3.Connection, _record: object) -> None:
            now = lambda _when: 2440587.5 + (time.time() - moved_s[0]) / 86400  # noqa: E731
            connection.create_function("julianday", 1, now)

        sa.event.listen(database, "connect", connected)
        database.dispose()
        return lambda by_s: moved_s.__setitem__(0, by_s)

    def test_delayed_call_with_the_clock_set_back_runs_after_its_delay(self, jobs, defer, set_back):
        recorder = Recorder()
        with running_worker(jobs, recorder):
            defer("first")
            until(lambda: recorder.names == ["first"])
            defer("second", delay=timedelta(seconds=2))
            time.sleep(0.3)
            set_back(3600)
            until(lambda: recorder.names == ["first", "second"])

    def test_call_of_a_dead_worker_with_the_clock_set_back_runs(self, jobs, database, defer, set_back):
        recorder = Recorder()
        defer("lost")
        with database.begin() as connection:
            assert queue.claim(connection, "dead", 1, 3.0, sa.true())
        with running_worker(jobs, recorder):
            defer("first")
            until(lambda: recorder.names == ["first"])
            time.sleep(0.3)
            set_back(3600)
            until(lambda: recorder.names == ["first", "lost"])

    def test_running_call_does_not_run_twice(self, jobs, defer, state, set_back):
        recorder = Recorder(lambda call: time.sleep(2))
        with running_worker(jobs, recorder):
            job_id = defer("long")
            until(lambda: recorder.runs)
            time.sleep(0.3)
            set_back(3600)
            until(lambda: state(job_id) == JobState.SUCCEEDED)
        assert len(recorder.runs) == 1
