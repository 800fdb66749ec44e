"""Tests of the engine on PostgreSQL: the contract and dropped connections."""

import gc
import json
import logging
import signal
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import timedelta

import pytest
import sqlalchemy as sa

from app.core.jobs import Job, JobCall
from app.database.engines import PG_LOCK_MS
from app.drivers.jobs.port import JobRun, JobState
from app.drivers.jobs.postgresql import queue
from app.drivers.jobs.postgresql.worker import EXIT_LEASE_EXPIRED
from tests.drivers.jobs import contract
from tests.drivers.jobs.contract import Recorder, failing, running_worker, until
from tests.drivers.jobs.contract.suite import DONE
from tests.drivers.jobs.processes import RunLog, job_engine_for, worker_process
from tests.drivers.jobs.stores import FAST, postgres_database

BLOCKED_BY_THIS = (
    "SELECT count(*) FROM pg_locks WHERE NOT granted AND transactionid = CAST(pg_current_xact_id() AS xid)"
)
"""The number of transactions that wait for the end of the present one."""


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


class TestOutboundJobs(_OnPostgres, contract.OutboundJobs): ...


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

    def test_call_without_a_stored_outcome_runs_again(self, jobs, database, defer, state):
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
            until(lambda: len(recorder.runs) == 2)
            rename("procrastinate_hidden", "procrastinate_finish_job_v1")
            until(lambda: state(job_id) == JobState.SUCCEEDED)

    @pytest.mark.parametrize("renamed", ["FUNCTION procrastinate_fetch_job_v2", "TABLE procrastinate_workers"])
    def test_call_runs_once_although_its_worker_starts_again(self, database, defer, state, renamed):
        def execute(statement: str) -> None:
            with database.begin() as connection:
                connection.exec_driver_sql(statement)

        go = threading.Event()
        recorder = Recorder(lambda call: go.wait(60) if call.name == "long" else None)
        # The worker must send a heartbeat within a lease after the outage, also on a busy machine.
        timings = replace(FAST, lease_s=3.0)
        first, second = job_engine_for(database, timings), job_engine_for(database, timings)
        with running_worker(first, recorder), running_worker(second, recorder):
            long = defer("long")
            until(lambda: recorder.runs)
            execute(f"ALTER {renamed} RENAME TO hidden")
            time.sleep(2 * timings.lease_s)
            execute(f"ALTER {renamed.split()[0]} hidden RENAME TO {renamed.split()[1]}")
            next_id = defer("next")
            until(lambda: state(next_id) == JobState.SUCCEEDED)
            time.sleep(2 * timings.lease_s)
            assert recorder.names == ["long", "next"]
            go.set()
            until(lambda: state(long) == JobState.SUCCEEDED)

        assert recorder.names == ["long", "next"]


class TestRequeue(_OnPostgres, contract.Suite):
    def test_call_that_two_workers_requeue_waits_once(self, jobs, url, database, defer, state, tmp_path):
        run_log = RunLog(tmp_path / "run_log")
        job_id = defer("sleep", args={"seconds": 60})
        with worker_process(url, run_log, FAST):
            until(run_log.read)
        with database.begin() as connection:
            (stalled,) = queue.manager_on(connection).list_jobs(status=queue.RUNNING)

        for _ in range(2):
            with database.begin() as connection:
                assert queue.requeue_stalled(connection, stalled, 2, "died")

        with database.begin() as connection:
            (waiting,) = queue.manager_on(connection).list_jobs(id=int(job_id))
        assert (waiting.status, waiting.attempts) == (queue.WAITING, 1)


class TestSuspendedWorker(_OnPostgres, contract.Suite):
    def test_failed_run_of_a_suspended_worker_ends_its_process(self, jobs, url, defer, state, tmp_path):
        run_log = RunLog(tmp_path / "run_log")
        go = threading.Event()
        job_id = defer("fail", args={"seconds": 0.5})
        with worker_process(url, run_log, FAST) as process:
            until(run_log.read)
            process.send_signal(signal.SIGSTOP)
            with running_worker(jobs, recorder := Recorder(lambda call: go.wait(60))):
                until(lambda: recorder.runs)
                process.send_signal(signal.SIGCONT)
                assert process.wait(60) == EXIT_LEASE_EXPIRED
                go.set()
                until(lambda: state(job_id) == JobState.SUCCEEDED)

        assert len(recorder.runs) == 1


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

    def test_call_of_a_parallel_transaction_starts_after_the_commit_of_the_dropped_call(self, jobs, database):
        recorder, go, ids, runs_before = Recorder(), threading.Event(), [], []

        def drop() -> None:
            with database.begin() as connection:
                ids.append(jobs.defer(connection, JobCall("index", unique="index:1")))
                go.wait(60)
                runs_before.extend(recorder.runs)

        thread = threading.Thread(target=drop)
        with database.begin() as connection:
            jobs.defer(connection, JobCall("index", unique="index:1"))
            thread.start()
            until(lambda: connection.scalar(sa.text(BLOCKED_BY_THIS)) == 1)
        until(lambda: ids)
        with running_worker(jobs, recorder):
            time.sleep(0.4)
            go.set()
            until(lambda: recorder.runs)
            thread.join(60)

        assert (ids, runs_before) == ([None], [])


class TestRetries(_OnPostgres, contract.Suite):
    def test_failed_run_waits_again_although_a_call_with_its_key_is_stored_at_the_same_time(
        self, jobs, database, defer, state, caplog
    ):
        recorder = Recorder(_fail_once_after(go := threading.Event()))
        first = defer("index", unique="index:1")
        with running_worker(jobs, recorder, {"index": Job("index", print, retries=3)}):
            until(lambda: recorder.runs)
            with database.begin() as connection:
                second = jobs.defer(connection, JobCall("index", unique="index:1"))
                go.set()
                until(lambda: connection.scalar(sa.text(BLOCKED_BY_THIS)) == 1)
            until(lambda: {state(first), state(second)} <= set(DONE))
            gc.collect()

        assert len(recorder.runs) in (2, 3)
        assert not [line for line in caplog.messages if "never retrieved" in line]

    def test_failed_run_waits_again_although_a_transaction_holds_the_call_with_its_key(
        self, jobs, database, defer, state, caplog
    ):
        recorder = Recorder(_fail_once_after(go := threading.Event()))
        first = defer("index", unique="index:1")
        with running_worker(jobs, recorder, {"index": Job("index", print, retries=3)}):
            until(lambda: recorder.runs)
            second = defer("index", unique="index:1", delay=timedelta(hours=1))
            with database.begin() as connection:
                assert jobs.defer(connection, JobCall("index", unique="index:1")) is None
                go.set()
                time.sleep(PG_LOCK_MS / 1000 + 1)
            until(lambda: state(first) == JobState.SUCCEEDED)
            gc.collect()

        assert (len(recorder.runs), state(second)) == (2, None)
        assert not [line for line in caplog.messages if "never retrieved" in line]


def _fail_once_after(go: threading.Event) -> Callable[[JobRun], None]:
    """Return a behaviour whose first run waits and raises."""
    fail = failing(OSError(), times=1)

    def behave(call: JobRun) -> None:
        go.wait(60)
        fail(call)

    return behave


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
