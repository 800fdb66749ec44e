"""What becomes of runs that fail, and what may be seen of calls."""

import threading
import time
from datetime import timedelta

from app.core.errors import AppError
from app.core.jobs import Job, PermanentFailure
from app.drivers.jobs.port import JobRun, JobState
from tests.drivers.jobs.contract.suite import Recorder, Suite, failing, until, working


class Failing(Suite):
    """Retries, back-off and dead letters."""

    def test_a_failed_run_is_tried_again_until_it_succeeds(self, jobs, defer, state):
        recorder = Recorder(failing(OSError(), times=2))
        job_id = defer("flaky")

        with working(jobs, recorder, {"flaky": Job("flaky", print, retries=3)}):
            until(lambda: state(job_id) == JobState.SUCCEEDED)

        assert [call.attempt for call in recorder.runs] == [1, 2, 3]

    def test_out_of_retries_it_is_listed_as_dead_without_what_its_error_quoted(self, jobs, database, defer, state):
        recorder = Recorder(failing(OSError("password=hunter2")))
        job_id = defer("hopeless", args={"id": "x_1"})

        with working(jobs, recorder, {"hopeless": Job("hopeless", print, retries=2)}):
            until(lambda: state(job_id) == JobState.DEAD)
        with database.begin() as connection:
            (letter,) = jobs.dead(connection)

        assert (letter.id, letter.name, letter.args, letter.attempts) == (job_id, "hopeless", {"id": "x_1"}, 3)
        assert letter.error == "OSError"
        assert letter.died_at.tzinfo is not None
        assert len(recorder.runs) == 3

    def test_a_permanent_failure_is_dead_at_once_with_its_message(self, jobs, database, defer, state):
        recorder = Recorder(failing(PermanentFailure("the repository is gone")))
        job_id = defer("index")

        with working(jobs, recorder):
            until(lambda: state(job_id) == JobState.DEAD)
        with database.begin() as connection:
            (letter,) = jobs.dead(connection)

        assert len(recorder.runs) == 1
        assert letter.error == "PermanentFailure: the repository is gone"

    def test_a_dead_letter_can_be_retried_with_all_its_retries(self, jobs, database, defer, state):
        recorder = Recorder(failing(AppError("no"), times=3))
        job_id = defer("index")

        with working(jobs, recorder, {"index": Job("index", print, retries=1)}):
            until(lambda: state(job_id) == JobState.DEAD)
            with database.begin() as connection:
                retried = jobs.retry_dead(connection, job_id)
            until(lambda: state(job_id) == JobState.SUCCEEDED)
        with database.begin() as connection:
            again = jobs.retry_dead(connection, job_id), jobs.retry_dead(connection, "nonsense")
            left = jobs.dead(connection)

        assert (retried, again, left) == (True, (False, False), [])
        assert [call.attempt for call in recorder.runs] == [1, 2, 1, 2]

    def test_a_dead_letter_retried_while_its_key_waits_is_kept_beside_it(self, jobs, database, defer, state):
        recorder = Recorder(failing(PermanentFailure("no"), times=1))
        job_id = defer("index", unique="index:1")
        with working(jobs, recorder):
            until(lambda: state(job_id) == JobState.DEAD)
        newer = defer("index", unique="index:1")

        with database.begin() as connection:
            assert jobs.retry_dead(connection, job_id)
        with working(jobs, recorder):
            until(lambda: state(job_id) == state(newer) == JobState.SUCCEEDED)

        assert len(recorder.runs) == 3

    def test_a_thread_that_exits_fails_its_run_and_not_the_worker(self, jobs, defer, state):
        recorder = Recorder(failing(SystemExit(1), times=1))
        job_id = defer("rude")

        with working(jobs, recorder):
            until(lambda: state(job_id) == JobState.SUCCEEDED)

        assert len(recorder.runs) == 2


class Watching(Suite):
    """Progress, status and counts."""

    def test_progress_is_readable_while_the_job_runs_and_after(self, jobs, database, defer):
        go = threading.Event()

        def behave(call: JobRun) -> None:
            jobs.report(call.id, 3, 10)
            go.wait(5)
            jobs.report(call.id, 10, 10)

        def progress() -> tuple[object, ...]:
            with database.begin() as connection:
                status = jobs.status(connection, job_id)
            assert status
            return status.state, status.done, status.total

        job_id = defer("long")
        with working(jobs, Recorder(behave)):
            until(lambda: progress() == (JobState.RUNNING, 3, 10))
            go.set()
            until(lambda: progress() == (JobState.SUCCEEDED, 10, 10))

    def test_counts_tell_what_waits_runs_and_is_dead_and_the_lag_of_the_oldest_due(self, jobs, database, defer, state):
        go = threading.Event()

        def behave(call: JobRun) -> None:
            if call.name == "bad":
                raise PermanentFailure("no")
            go.wait(5)

        bad = defer("bad")
        defer("later", delay=timedelta(hours=1))
        with working(jobs, Recorder(behave), concurrency=1):
            until(lambda: state(bad) == JobState.DEAD)
            running = defer("running")
            until(lambda: state(running) == JobState.RUNNING)
            defer("due")
            time.sleep(0.3)
            with database.begin() as connection:
                counts = jobs.counts(connection)
            go.set()

        assert counts.worker_seen_s is not None
        assert -1 <= counts.worker_seen_s < 60

        assert (counts.waiting, counts.running, counts.dead) == (2, 1, 1)
        assert 0.25 < counts.lag_s < 3

    def test_an_unknown_id_has_no_status(self, state):
        assert state("999999") is None
        assert state("prj_1") is None
