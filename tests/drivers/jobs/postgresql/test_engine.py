"""Tests of the engine on PostgreSQL: the contract and dropped connections."""

import json
import logging
import threading
import time
from collections.abc import Iterator

import pytest
import sqlalchemy as sa

from app.core.jobs import JobCall
from app.drivers.jobs.port import JobState
from tests.drivers.jobs import contract
from tests.drivers.jobs.contract import Recorder, failing, running_worker, until
from tests.drivers.jobs.processes import job_engine_for
from tests.drivers.jobs.stores import FAST, postgres_database


@pytest.fixture(scope="module")
def postgres_url() -> Iterator[str]:
    with postgres_database() as url:
        yield url


class _OnPostgres:
    @pytest.fixture
    def url(self, postgres_url: str) -> str:
        return postgres_url


class TestEnqueueing(_OnPostgres, contract.Enqueueing): ...


class TestUniqueCalls(_OnPostgres, contract.UniqueCalls): ...


class TestLockedCalls(_OnPostgres, contract.LockedCalls): ...


class TestFailedRuns(_OnPostgres, contract.FailedRuns): ...


class TestCallStatus(_OnPostgres, contract.CallStatus): ...


class TestPeriodic(_OnPostgres, contract.Periodic): ...


class TestWorkerFailures(_OnPostgres, contract.WorkerFailures): ...


class TestTables(_OnPostgres, contract.Tables): ...


class TestDroppedConnections(_OnPostgres, contract.Suite):
    @pytest.fixture
    def cut(self, database):
        def end_all() -> int:
            with database.begin() as connection:
                ended = sa.text(
                    "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity"
                    " WHERE application_name = 'galley-worker' AND datname = current_database()"
                )
                return connection.scalar(ended)

        return end_all

    def test_dropped_connections_do_not_lose_outcomes_or_calls(self, jobs, defer, state, cut):
        go = threading.Event()
        recorder = Recorder(lambda call: go.wait(60))
        with running_worker(jobs, recorder):
            first = defer("first")
            until(lambda: recorder.runs)

            assert cut() >= 1
            go.set()
            second = defer("second")
            until(lambda: state(first) == state(second) == JobState.SUCCEEDED)

        assert sorted(recorder.names) == ["first", "second"]

    def test_outcome_is_written_after_the_database_returns(self, jobs, database, defer, state):
        def rename(old: str, new: str) -> None:
            with database.begin() as connection:
                connection.exec_driver_sql(f"ALTER FUNCTION {old} RENAME TO {new}")

        go = threading.Event()
        recorder = Recorder(lambda call: go.wait(60))
        job_id = defer("first")
        with running_worker(jobs, recorder):
            until(lambda: recorder.runs)
            rename("procrastinate_finish_job_v1", "procrastinate_hidden")
            go.set()
            time.sleep(0.5)
            rename("procrastinate_hidden", "procrastinate_finish_job_v1")
            until(lambda: state(job_id) == JobState.SUCCEEDED)

        assert len(recorder.runs) == 1


class TestLeases(_OnPostgres, contract.Suite):
    def test_worker_without_the_lease_does_not_end_the_call(self, jobs, database, defer, state):
        go = threading.Event()
        recorder = Recorder(lambda call: go.wait(60))
        job_id = defer("slow")
        with running_worker(jobs, recorder):
            until(lambda: recorder.runs)
            with database.begin() as connection:
                connection.exec_driver_sql("UPDATE procrastinate_jobs SET worker_id = NULL")
            until(lambda: len(recorder.runs) == 2)
            with database.begin() as connection:
                connection.exec_driver_sql("INSERT INTO procrastinate_workers DEFAULT VALUES")
                connection.exec_driver_sql(
                    "UPDATE procrastinate_jobs SET worker_id = (SELECT max(id) FROM procrastinate_workers)"
                )
            go.set()
            time.sleep(0.3)

            assert state(job_id) == JobState.RUNNING
            until(lambda: state(job_id) == JobState.SUCCEEDED)

        assert len(recorder.runs) == 3


class TestParallelCalls(_OnPostgres, contract.Suite):
    def test_parallel_calls_with_one_key_store_one_call(self, jobs, database):
        ids: list[str | None] = []
        together = threading.Barrier(8)

        def call() -> None:
            together.wait(60)
            with database.begin() as connection:
                ids.append(jobs.defer(connection, JobCall("index", unique="index:1")))

        threads = [threading.Thread(target=call) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)

        assert len([job_id for job_id in ids if job_id]) == 1
        assert len(ids) == 8


class TestLogs(_OnPostgres, contract.Suite):
    def test_log_contains_no_arguments_of_calls(self, database, defer, state, caplog):
        caplog.set_level(logging.DEBUG)
        jobs = job_engine_for(database, FAST)
        recorder = Recorder(failing(OSError("told"), times=1))
        job_id = defer("index", args={"marked": "unmistakable"})

        with running_worker(jobs, recorder):
            until(lambda: state(job_id) == JobState.SUCCEEDED)

        lines = [json.dumps(vars(record), default=str) for record in caplog.records if record.name.startswith("procr")]
        assert not [line for line in lines if "unmistakable" in line]
