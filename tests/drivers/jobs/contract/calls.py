"""How calls are kept: in the caller's transaction, once where they say so, one at a time where they lock."""

import threading
import time
from datetime import timedelta

from app.core.jobs import JobCall, PermanentFailure
from app.drivers.jobs.port import JobRun, JobState
from tests.drivers.jobs.contract.suite import Recorder, Suite, failing, until, working


class Enqueueing(Suite):
    """Calls are kept in the caller's transaction."""

    def test_a_committed_call_runs_with_its_arguments(self, jobs, defer, state):
        recorder = Recorder()

        with working(jobs, recorder):
            job_id = defer("content.index", args={"project_id": "prj_1", "depth": 2})
            until(lambda: state(job_id) == JobState.SUCCEEDED)

        assert recorder.runs == [JobRun(job_id, "content.index", {"project_id": "prj_1", "depth": 2}, 1)]

    def test_the_cause_of_a_call_comes_with_its_run_and_stays_out_of_its_arguments(self, jobs, database, defer, state):
        cause = {"request_id": "a-request"}

        dead = defer("bad", args={"id": "x_1"}, cause=cause)

        def behave(call: JobRun) -> None:
            raise PermanentFailure(call.cause["request_id"])

        with working(jobs, recorder := Recorder(behave)):
            until(lambda: state(dead) == JobState.DEAD)

        with database.begin() as connection:
            (letter,) = jobs.dead(connection)
        assert [(run.args, run.cause) for run in recorder.runs] == [({"id": "x_1"}, cause)]
        assert (letter.args, letter.error) == ({"id": "x_1"}, "PermanentFailure: a-request")

    def test_unfinished_calls_are_told_so_that_another_engine_can_take_them(self, jobs, database, defer):
        cause = {"request_id": "a-request"}
        defer("first", args={"id": "x_1"}, unique="one", lock="two", priority=3, cause=cause)
        defer("later", delay=timedelta(hours=1))

        with database.begin() as connection:
            first, later = jobs.unfinished(connection)

        assert first == JobCall("first", {"id": "x_1"}, timedelta(0), "one", "two", 3, cause)
        assert (later.name, later.cause) == ("later", {})
        assert timedelta(minutes=59) < later.delay <= timedelta(hours=1)

    def test_a_rollback_leaves_no_job(self, jobs, database, defer, state):
        with database.connect() as connection:
            connection.begin()
            dropped = jobs.defer(connection, JobCall("dropped"))
            connection.rollback()
        kept = defer("kept")
        recorder = Recorder()

        with working(jobs, recorder):
            until(lambda: state(kept) == JobState.SUCCEEDED)

        assert recorder.names == ["kept"]
        assert dropped == kept or state(dropped) is None

    def test_a_call_does_not_start_before_the_callers_commit(self, jobs, database):
        recorder = Recorder()

        with working(jobs, recorder):
            with database.begin() as connection:
                jobs.defer(connection, JobCall("later"))
                time.sleep(0.3)
                before = list(recorder.runs)
            until(lambda: recorder.runs)

        assert before == []

    def test_a_savepoint_that_is_rolled_back_takes_only_its_calls_along(self, jobs, database, defer):
        recorder = Recorder()
        with database.begin() as connection:
            jobs.defer(connection, JobCall("outer"))
            savepoint = connection.begin_nested()
            jobs.defer(connection, JobCall("inner"))
            savepoint.rollback()

        with working(jobs, recorder):
            until(lambda: recorder.runs)
            time.sleep(0.1)

        assert recorder.names == ["outer"]

    def test_a_delayed_call_waits_its_time(self, jobs, defer):
        recorder = Recorder()
        enqueued = time.monotonic()
        defer("delayed", delay=timedelta(seconds=0.6))

        with working(jobs, recorder):
            until(lambda: recorder.runs)

        assert 0.55 < recorder.times[0] - enqueued < 3

    def test_a_higher_priority_goes_first_then_the_older(self, jobs, defer):
        recorder = Recorder()
        for name, priority in (("low", -1), ("first", 0), ("second", 0), ("high", 5)):
            defer(name, priority=priority)

        with working(jobs, recorder, concurrency=1):
            until(lambda: len(recorder.runs) == 4)

        assert recorder.names == ["high", "first", "second", "low"]


class UniqueCalls(Suite):
    """One call of a unique key waits at a time."""

    def test_a_second_call_is_dropped_and_the_callers_transaction_lives_on(self, jobs, database, defer):
        recorder = Recorder()
        first = defer("index", unique="index:1")
        with database.begin() as connection:
            second = jobs.defer(connection, JobCall("index", unique="index:1"))
            jobs.defer(connection, JobCall("other"))

        with working(jobs, recorder):
            until(lambda: len(recorder.runs) == 2)
            time.sleep(0.1)

        assert (first is not None, second) == (True, None)
        assert sorted(recorder.names) == ["index", "other"]

    def test_a_call_made_while_one_runs_is_kept(self, jobs, defer):
        go = threading.Event()
        recorder = Recorder(lambda call: go.wait(5))

        with working(jobs, recorder):
            defer("index", unique="index:1")
            until(lambda: recorder.runs)
            second = defer("index", unique="index:1")
            third = defer("index", unique="index:1")
            go.set()
            until(lambda: len(recorder.runs) == 2 or second is None)

        assert second is not None
        assert third is None or len(recorder.runs) >= 2

    def test_what_dropped_a_call_starts_only_after_its_commit_and_so_sees_its_rows(self, jobs, database, defer):
        recorder = Recorder()
        defer("index", unique="index:1")

        with database.begin() as connection:
            assert jobs.defer(connection, JobCall("index", unique="index:1")) is None
            with working(jobs, recorder):
                time.sleep(0.4)
                before = list(recorder.runs)
                connection.commit()
                until(lambda: recorder.runs)

        assert before == []

    def test_a_failed_run_is_tried_again_although_a_newer_call_took_its_key(self, jobs, defer, state):
        go = threading.Event()
        fail_once = failing(OSError(), times=1)
        recorder = Recorder(lambda call: (go.wait(5), fail_once(call)))

        with working(jobs, recorder, concurrency=1):
            first = defer("index", unique="index:1")
            until(lambda: recorder.runs)
            second = defer("index", unique="index:1")
            go.set()
            until(lambda: state(first) == state(second) == JobState.SUCCEEDED)

        assert len(recorder.runs) == 3


class LockedCalls(Suite):
    """Calls of one lock run one after another."""

    def test_they_run_in_order_and_never_at_once_while_others_pass(self, jobs, defer):
        running: list[str] = []
        crowds: list[int] = []

        def behave(call: JobRun) -> None:
            if call.name != "free":
                running.append(call.name)
                crowds.append(len(running))
                time.sleep(0.05)
                running.remove(call.name)

        recorder = Recorder(behave)
        for name in ("one", "two", "three", "four"):
            defer(name, lock="project:1")
        defer("free")

        with working(jobs, recorder, concurrency=4):
            until(lambda: len(recorder.runs) == 5)

        assert [name for name in recorder.names if name != "free"] == ["one", "two", "three", "four"]
        assert set(crowds) == {1}
        assert recorder.names.index("free") < 4

    def test_a_call_of_the_lock_waits_for_the_retry_of_the_one_before(self, jobs, defer):
        fail_once = failing(OSError(), times=1)
        recorder = Recorder(lambda call: fail_once(call) if call.name == "one" else None)
        defer("one", lock="project:1")
        defer("two", lock="project:1")

        with working(jobs, recorder):
            until(lambda: len(recorder.runs) == 3)

        assert recorder.names == ["one", "one", "two"]
