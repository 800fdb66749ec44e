"""The embedded engine keeps the contract, and its own promises on SQLite."""

import threading
import time
from pathlib import Path

import pytest

from app.drivers.jobs.port import JobState
from tests.drivers.jobs import contract
from tests.drivers.jobs.contract import Recorder, until, working
from tests.drivers.jobs.stores import sqlite_url


class _OnSqlite:
    @pytest.fixture
    def url(self, tmp_path: Path) -> str:
        return sqlite_url(tmp_path)


class TestEnqueueing(_OnSqlite, contract.Enqueueing): ...


class TestUniqueCalls(_OnSqlite, contract.UniqueCalls): ...


class TestLockedCalls(_OnSqlite, contract.LockedCalls): ...


class TestFailing(_OnSqlite, contract.Failing): ...


class TestWatching(_OnSqlite, contract.Watching): ...


class TestPeriodic(_OnSqlite, contract.Periodic): ...


class TestSurviving(_OnSqlite, contract.Surviving): ...


class TestTables(_OnSqlite, contract.Tables): ...


class TestBusyDatabase(_OnSqlite, contract.Suite):
    def test_an_outcome_outlasts_another_writer_that_holds_the_database(self, jobs, database, defer, state):
        held = threading.Event()
        recorder = Recorder(lambda call: held.wait(5))
        job_id = defer("busy")

        with working(jobs, recorder):
            until(lambda: recorder.runs)
            with database.begin():
                held.set()
                time.sleep(3.5)  # longer than one wait for the write lock
            until(lambda: state(job_id) == JobState.SUCCEEDED)

        assert len(recorder.runs) == 1

    def test_progress_does_not_wait_for_the_jobs_own_transaction(self, jobs, database, defer, state):
        waited_s: list[float] = []

        def behave(call):
            with database.begin():
                started = time.monotonic()
                jobs.report(call.id, 1, 2)
                waited_s.append(time.monotonic() - started)

        job_id = defer("writer")
        with working(jobs, Recorder(behave)):
            until(lambda: state(job_id) == JobState.SUCCEEDED)

        assert waited_s[0] < 0.05
