"""What engines do by the clock, what they survive, and what they leave behind."""

import threading
import time
from contextlib import ExitStack
from datetime import timedelta
from pathlib import Path

import pytest
import sqlalchemy as sa

from app.core.jobs import Job
from app.drivers.jobs.policy import Timing
from app.drivers.jobs.port import JobState
from tests.drivers.jobs.contract.suite import Recorder, Suite, until, working
from tests.drivers.jobs.processes import Diary, diarist, jobs_on, worker_process
from tests.drivers.jobs.stores import FAST


class Periodic(Suite):
    """Jobs that fire by themselves."""

    def test_a_periodic_job_fires_once_a_period_over_all_workers(self, database):
        recorder = Recorder()
        every = timedelta(seconds=0.5)
        declared = {"tick": Job("tick", print, every=every)}
        started = time.time()

        with working(jobs_on(database, FAST), recorder, declared), working(jobs_on(database, FAST), recorder, declared):
            until(lambda: len(recorder.runs) >= 3)
        periods = int(time.time() // 0.5) - int(started // 0.5) + 1

        assert 3 <= len(recorder.runs) <= periods

    def test_a_firing_is_skipped_while_the_last_one_waits(self, jobs, database):
        go = threading.Event()
        declared = {"tick": Job("tick", print, every=timedelta(seconds=0.1))}

        with working(jobs, Recorder(lambda call: go.wait(5)), declared, concurrency=1):
            time.sleep(1)
            with database.begin() as connection:
                counts = jobs.counts(connection)
            go.set()

        assert (counts.running, counts.waiting) == (1, 1)


class Surviving(Suite):
    """Workers end in every way; calls are not lost."""

    @pytest.fixture
    def diary(self, tmp_path: Path) -> Diary:
        return Diary(tmp_path / "diary")

    def test_a_killed_workers_call_is_taken_up_by_another(self, jobs, url, defer, state, diary):
        job_id = defer("sleep", args={"seconds": 1.0})
        with worker_process(url, diary, FAST) as process:
            until(lambda: diary.read(), within_s=15)
            process.kill()
        killed = time.monotonic()

        with working(jobs, diarist(diary)):
            until(lambda: len(diary.read()) == 2)
            taken_up_s = time.monotonic() - killed
            until(lambda: state(job_id) == JobState.SUCCEEDED)

        assert [entry.what for entry in diary.read()] == ["start", "start", "end"]
        assert taken_up_s < FAST.lease_s + FAST.sweep_s + 2

    def test_a_killed_workers_call_is_taken_up_although_a_newer_one_took_its_key(self, jobs, url, defer, state, diary):
        first = defer("sleep", args={"seconds": 0.5}, unique="index:1")
        with worker_process(url, diary, FAST) as process:
            until(lambda: diary.read(), within_s=15)
            process.kill()
        second = defer("sleep", args={"seconds": 0}, unique="index:1", delay=timedelta(hours=1))

        with working(jobs, diarist(diary)):
            until(lambda: state(first) == JobState.SUCCEEDED)

        assert [entry.what for entry in diary.read()] == ["start", "start", "end"]
        assert state(second) == JobState.WAITING

    def test_a_call_that_always_kills_its_worker_is_dead_after_the_limit(self, jobs, url, database, defer, diary):
        job_id = defer("die")
        for killed in range(1, FAST.poison_limit + 1):
            with worker_process(url, diary, Timing(**{**vars(FAST), "lease_s": 0.6})) as process:
                assert process.wait(20) == -9
            assert len(diary.read()) == killed

        def letters() -> list[str]:
            with database.begin() as connection:
                return [f"{letter.id} {letter.error}" for letter in jobs.dead(connection)]

        with working(jobs, diarist(diary)):
            until(letters)

        assert letters() == [f"{job_id} WorkerDied: 3 workers ended while running it"]

    def test_a_stopping_worker_lets_a_run_end_and_keeps_its_lease_meanwhile(self, database, defer, state):
        patient = Timing(**{**vars(FAST), "grace_s": 5.0})
        recorder = Recorder(lambda call: time.sleep(2.5))
        job_id = defer("long")

        with ExitStack() as other:
            with working(jobs_on(database, patient), recorder):
                until(lambda: recorder.runs)
                other.enter_context(working(jobs_on(database, FAST), recorder))
            ended = state(job_id)

        assert ended == JobState.SUCCEEDED
        assert len(recorder.runs) == 1

    def test_a_run_that_outlasts_the_grace_is_handed_back_without_blame(self, jobs, database, defer, state):
        go = threading.Event()
        recorder = Recorder(lambda call: go.wait(5))
        job_id = defer("endless")

        with working(jobs, recorder):
            until(lambda: recorder.runs)
        handed_back = state(job_id)
        go.set()
        with working(jobs_on(database, FAST), recorder, {"endless": Job("endless", print, retries=0)}):
            until(lambda: state(job_id) == JobState.SUCCEEDED)

        assert handed_back == JobState.WAITING
        assert len(recorder.runs) == 2


class Tables(Suite):
    """The engine's own tables."""

    def test_it_owns_every_table_it_makes_and_no_other(self, jobs, database):
        names = sa.inspect(database).get_table_names()

        assert names
        assert all(jobs.owns_table(name) for name in names)
        assert not any(jobs.owns_table(name) for name in ("user", "project", "job"))

    def test_installing_twice_and_uninstalling_leave_nothing_behind(self, jobs, database):
        with database.begin() as connection:
            jobs.install(connection)
            jobs.uninstall(connection)
            jobs.uninstall(connection)
        left = sa.inspect(database).get_table_names()
        with database.begin() as connection:
            jobs.install(connection)

        assert [name for name in left if name != "sqlite_sequence"] == []
