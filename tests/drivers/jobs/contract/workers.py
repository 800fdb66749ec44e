"""Contract of periodic jobs, killed workers and the tables of an engine."""

import threading
import time
from contextlib import ExitStack
from datetime import timedelta
from pathlib import Path

import pytest
import sqlalchemy as sa

from app.core.jobs import Job, PermanentFailure, registry
from app.drivers.jobs.port import JobRun, JobState
from app.drivers.jobs.retry_policy import OUTBOUND_CONCURRENCY, JobTimings
from tests.drivers.jobs.contract.suite import Recorder, Suite, running_worker, until
from tests.drivers.jobs.processes import RunLog, job_engine_for, recording_run, worker_process
from tests.drivers.jobs.stores import FAST


class Periodic(Suite):
    """Tests of periodic jobs."""

    def test_periodic_job_fires_once_per_period_on_all_workers(self, database):
        recorder = Recorder()
        every = timedelta(seconds=0.5)
        declared = {"tick": Job("tick", print, every=every)}
        started = time.time()

        with (
            running_worker(job_engine_for(database, FAST), recorder, declared),
            running_worker(job_engine_for(database, FAST), recorder, declared),
        ):
            until(lambda: len(recorder.runs) >= 3)
        periods = int(time.time() // 0.5) - int(started // 0.5) + 1

        assert 3 <= len(recorder.runs) <= periods

    def test_periodic_job_is_skipped_while_a_call_waits(self, jobs, database):
        go = threading.Event()
        declared = {"tick": Job("tick", print, every=timedelta(seconds=0.1))}

        with running_worker(jobs, Recorder(lambda call: go.wait(60)), declared, concurrency=1):
            time.sleep(1)
            with database.begin() as connection:
                counts = jobs.counts(connection)
            go.set()

        assert (counts.running, counts.waiting) == (1, 1)

    @pytest.mark.parametrize("failure", [PermanentFailure("no"), OSError("no")], ids=["permanent", "temporary"])
    def test_failed_periodic_job_is_counted_until_its_next_success_and_is_no_dead_letter(self, jobs, database, failure):
        healthy = threading.Event()

        def behave(_call: JobRun) -> None:
            if not healthy.is_set():
                raise failure

        def counts() -> tuple[int, int]:
            with database.begin() as connection:
                result = jobs.counts(connection)
            return result.failed, result.dead

        recorder = Recorder(behave)
        declared = {"tick": Job("tick", print, every=timedelta(seconds=0.3), retries=0)}
        with running_worker(jobs, recorder, declared):
            until(lambda: len(recorder.runs) >= 3 and counts() == (1, 0))
            healthy.set()
            until(lambda: counts() == (0, 0))
        with database.begin() as connection:
            assert jobs.dead(connection) == []

    def test_periodic_job_that_kills_its_workers_is_no_dead_letter(self, jobs, url, database, defer, state, tmp_path):
        run_log = RunLog(tmp_path / "run_log")
        job_id, go = defer("die"), threading.Event()
        for _ in range(FAST.poison_limit):
            with worker_process(url, run_log, FAST) as process:
                assert process.wait(60) == -9

        declared = {"die": Job("die", print, every=timedelta(hours=1))}
        with running_worker(jobs, Recorder(lambda _call: go.wait(60)), declared):
            until(lambda: state(job_id) == JobState.FAILED)
            with database.begin() as connection:
                counts = jobs.counts(connection)
            go.set()
        assert counts.dead == 0


class WorkerFailures(Suite):
    """Tests of workers that end. No call is lost."""

    @pytest.fixture
    def run_log(self, tmp_path: Path) -> RunLog:
        return RunLog(tmp_path / "run_log")

    def test_call_of_a_killed_worker_runs_on_another(self, jobs, url, defer, state, run_log):
        job_id = defer("sleep", args={"seconds": 1.0})
        with worker_process(url, run_log, FAST) as process:
            until(lambda: run_log.read(), within_s=15)
            process.kill()
        killed = time.monotonic()

        with running_worker(jobs, recording_run(run_log)):
            until(lambda: len(run_log.read()) == 2)
            taken_up_s = time.monotonic() - killed
            until(lambda: state(job_id) == JobState.SUCCEEDED)

        assert [entry.event for entry in run_log.read()] == ["start", "start", "end"]
        assert taken_up_s < FAST.lease_s + 2 * FAST.sweep_s + 2

    def test_call_of_a_killed_worker_runs_although_its_key_is_taken(self, jobs, url, defer, state, run_log):
        first = defer("sleep", args={"seconds": 0.5}, unique="index:1")
        with worker_process(url, run_log, FAST) as process:
            until(lambda: run_log.read(), within_s=15)
            process.kill()
        second = defer("sleep", args={"seconds": 0}, unique="index:1", delay=timedelta(hours=1))

        with running_worker(jobs, recording_run(run_log)):
            until(lambda: state(first) == JobState.SUCCEEDED)

        assert [entry.event for entry in run_log.read()] == ["start", "start", "end"]
        assert state(second) in (JobState.WAITING, None)

    def test_call_that_kills_its_workers_is_dead_after_the_limit(self, jobs, url, database, defer, run_log):
        job_id = defer("die")
        for killed in range(1, FAST.poison_limit + 1):
            with worker_process(url, run_log, FAST) as process:
                assert process.wait(60) == -9
            assert len(run_log.read()) == killed

        def letters() -> list[str]:
            with database.begin() as connection:
                return [f"{letter.id} {letter.error}" for letter in jobs.dead(connection)]

        with running_worker(jobs, recording_run(run_log)):
            until(letters)

        assert letters() == [f"{job_id} WorkerDied: 3 workers ended while running it"]

    def test_stopping_worker_waits_for_runs_and_renews_their_leases(self, database, defer, state):
        patient = JobTimings(**{**vars(FAST), "grace_s": 5.0})
        recorder = Recorder(lambda call: time.sleep(2.5))
        job_id = defer("long")

        with ExitStack() as other:
            with running_worker(job_engine_for(database, patient), recorder):
                until(lambda: recorder.runs)
                other.enter_context(running_worker(job_engine_for(database, FAST), recorder))
            ended = state(job_id)

        assert ended == JobState.SUCCEEDED
        assert len(recorder.runs) == 1


class Tables(Suite):
    """Tests of the tables of the engine."""

    def test_engine_owns_exactly_its_tables(self, jobs, database):
        names = sa.inspect(database).get_table_names()

        assert names
        assert all(jobs.owns_table(name) for name in names)
        assert not any(jobs.owns_table(name) for name in ("user", "project", "job"))

    def test_install_is_idempotent_and_uninstall_removes_everything(self, jobs, database):
        with database.begin() as connection:
            jobs.install(connection)
            jobs.uninstall(connection)
            jobs.uninstall(connection)
        left = sa.inspect(database).get_table_names()
        with database.begin() as connection:
            jobs.install(connection)

        assert [name for name in left if name != "sqlite_sequence"] == []


class OutboundJobs(Suite):
    """Tests of jobs that wait for servers of users."""

    @pytest.fixture(autouse=True)
    def declared(self, monkeypatch: pytest.MonkeyPatch) -> dict[str, Job]:
        declared = {"call": Job("call", print, outbound=True), "work": Job("work", print)}
        for name, job in declared.items():
            monkeypatch.setitem(registry, name, job)
        return declared

    @pytest.mark.parametrize(
        ("slow", "other", "running"),
        [("call", "work", OUTBOUND_CONCURRENCY), ("work", "call", 1)],
        ids=["call", "work"],
    )
    def test_slow_jobs_of_a_kind_hold_no_thread_of_the_other(self, jobs, defer, state, declared, slow, other, running):
        go = threading.Event()
        recorder = Recorder(lambda call: go.wait(60) if call.name == slow else None)
        for _ in range(OUTBOUND_CONCURRENCY + 2):
            defer(slow)

        with running_worker(jobs, recorder, declared, concurrency=1):
            until(lambda: recorder.names.count(slow) == running)
            done = [defer(other) for _ in range(3)]
            until(lambda: {state(job_id) for job_id in done} == {JobState.SUCCEEDED})
            assert recorder.names.count(slow) == running
            go.set()
            until(lambda: recorder.names.count(slow) == OUTBOUND_CONCURRENCY + 2)

    def test_worker_waits_for_outbound_jobs_at_its_end(self, jobs, defer, state, declared):
        go = threading.Event()
        recorder = Recorder(lambda _call: go.wait(60))
        job_id = defer("call")
        with running_worker(jobs, recorder, declared):
            until(lambda: recorder.runs)
            threading.Timer(0.3, go.set).start()
        assert state(job_id) == JobState.SUCCEEDED
