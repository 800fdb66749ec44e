"""Contract of failed runs and of the status of calls."""

import threading
import time
from datetime import timedelta

from app.core.errors import AppError
from app.core.jobs import Job, PermanentFailure
from app.drivers.jobs.port import JobRun, JobState
from tests.drivers.jobs.contract.suite import DONE, Recorder, Suite, failing, running_worker, until
from tests.support.pace import within


class FailedRuns(Suite):
    """Tests of retries, back-off and dead letters."""

    def test_failed_run_is_retried_until_it_succeeds(self, jobs, defer, state):
        recorder = Recorder(failing(OSError(), times=2))
        job_id = defer("flaky")

        with running_worker(jobs, recorder, {"flaky": Job("flaky", print, retries=3)}):
            until(lambda: state(job_id) == JobState.SUCCEEDED)

        assert [call.attempt for call in recorder.runs] == [1, 2, 3]

    def test_dead_letter_of_a_foreign_error_contains_its_type_only(self, jobs, database, defer, state):
        recorder = Recorder(failing(OSError("password=hunter2")))
        job_id = defer("hopeless", args={"id": "x_1"})

        with running_worker(jobs, recorder, {"hopeless": Job("hopeless", print, retries=2)}):
            until(lambda: state(job_id) == JobState.DEAD)
        with database.begin() as connection:
            (letter,) = jobs.dead(connection)

        assert (letter.id, letter.name, letter.args, letter.attempts) == (job_id, "hopeless", {"id": "x_1"}, 3)
        assert letter.error == "OSError"
        assert letter.died_at.tzinfo is not None
        assert len(recorder.runs) == 3

    def test_permanent_failure_becomes_a_dead_letter_with_its_message(self, jobs, database, defer, state):
        recorder = Recorder(failing(PermanentFailure("the repository is gone")))
        job_id = defer("index")

        with running_worker(jobs, recorder):
            until(lambda: state(job_id) == JobState.DEAD)
        with database.begin() as connection:
            (letter,) = jobs.dead(connection)

        assert len(recorder.runs) == 1
        assert letter.error == "PermanentFailure: the repository is gone"

    def test_retried_dead_letter_has_all_retries(self, jobs, database, defer, state):
        recorder = Recorder(failing(AppError("no"), times=3))
        job_id = defer("index")

        with running_worker(jobs, recorder, {"index": Job("index", print, retries=1)}):
            until(lambda: state(job_id) == JobState.DEAD)
            with database.begin() as connection:
                retried = jobs.retry_dead(connection, job_id)
            until(lambda: state(job_id) == JobState.SUCCEEDED)
        with database.begin() as connection:
            again = jobs.retry_dead(connection, job_id), jobs.retry_dead(connection, "nonsense")
            left = jobs.dead(connection)

        assert (retried, again, left) == (True, (False, False), [])
        assert len(recorder.runs) == 4

    def test_dead_letter_is_retried_although_its_key_is_taken(self, jobs, database, defer, state):
        recorder = Recorder(failing(PermanentFailure("no"), times=1))
        job_id = defer("index", unique="index:1")
        with running_worker(jobs, recorder):
            until(lambda: state(job_id) == JobState.DEAD)
        newer = defer("index", unique="index:1")

        with database.begin() as connection:
            assert jobs.retry_dead(connection, job_id)
        with running_worker(jobs, recorder):
            until(lambda: state(job_id) == JobState.SUCCEEDED and state(newer) in DONE)

        assert len(recorder.runs) == (2 if state(newer) is None else 3)

    def test_system_exit_of_a_job_fails_only_its_run(self, jobs, defer, state):
        recorder = Recorder(failing(SystemExit(1), times=1))
        job_id = defer("rude")

        with running_worker(jobs, recorder):
            until(lambda: state(job_id) == JobState.SUCCEEDED)

        assert len(recorder.runs) == 2


class CallStatus(Suite):
    """Tests of progress, status and counts."""

    def test_progress_is_readable_during_and_after_the_run(self, jobs, database, defer):
        go = threading.Event()

        def behave(call: JobRun) -> None:
            jobs.report(call.id, 3, 10)
            go.wait(60)
            jobs.report(call.id, 10, 10)

        def progress() -> tuple[object, ...]:
            with database.begin() as connection:
                status = jobs.status(connection, job_id)
            assert status
            return status.state, status.done, status.total

        job_id = defer("long")
        with running_worker(jobs, Recorder(behave)):
            until(lambda: progress() == (JobState.RUNNING, 3, 10))
            go.set()
            until(lambda: progress() == (JobState.SUCCEEDED, 10, 10))

    def test_counts_contain_states_and_lag(self, jobs, database, defer, state):
        go = threading.Event()

        def behave(call: JobRun) -> None:
            if call.name == "bad":
                raise PermanentFailure("no")
            go.wait(60)

        bad = defer("bad")
        defer("later", delay=timedelta(hours=1))
        with running_worker(jobs, Recorder(behave), concurrency=1):
            until(lambda: state(bad) == JobState.DEAD)
            running = defer("running")
            until(lambda: state(running) == JobState.RUNNING)
            defer("due")
            time.sleep(0.3)
            with database.begin() as connection:
                counts = jobs.counts(connection)
            go.set()

        assert counts.heartbeat_age_s is not None
        assert -1 <= counts.heartbeat_age_s < 60

        assert (counts.waiting, counts.running, counts.dead) == (2, 1, 1)
        assert 0.25 < counts.lag_s < within(3)

    def test_unknown_id_has_no_status(self, state):
        assert state("999999") is None
        assert state("prj_1") is None
