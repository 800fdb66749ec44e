"""Contract of stored calls: the transaction of the caller, unique keys and locks."""

import threading
import time
from datetime import timedelta

from app.core.jobs import JobCall, PermanentFailure
from app.drivers.jobs.port import JobRun, JobState
from tests.drivers.jobs.contract.suite import DONE, Recorder, Suite, failing, running_worker, until
from tests.support.pace import within


class Enqueueing(Suite):
    """Tests of calls that are stored in the transaction of the caller."""

    def test_committed_call_runs_with_its_arguments(self, jobs, defer, state):
        recorder = Recorder()

        with running_worker(jobs, recorder):
            job_id = defer("content.index", args={"project_id": "prj_1", "depth": 2})
            until(lambda: state(job_id) == JobState.SUCCEEDED)

        assert recorder.runs == [JobRun(job_id, "content.index", {"project_id": "prj_1", "depth": 2}, 1)]

    def test_context_of_a_call_is_not_an_argument(self, jobs, database, defer, state):
        cause = {"request_id": "a-request"}

        dead = defer("bad", args={"id": "x_1"}, context=cause)

        def behave(call: JobRun) -> None:
            raise PermanentFailure(call.context["request_id"])

        with running_worker(jobs, recorder := Recorder(behave)):
            until(lambda: state(dead) == JobState.DEAD)

        with database.begin() as connection:
            (letter,) = jobs.dead(connection)
        assert [(run.args, run.context) for run in recorder.runs] == [({"id": "x_1"}, cause)]
        assert (letter.args, letter.error) == ({"id": "x_1"}, "PermanentFailure: a-request")

    def test_unfinished_calls_can_be_enqueued_in_another_engine(self, jobs, database, defer):
        cause = {"request_id": "a-request"}
        defer("first", args={"id": "x_1"}, unique="one", lock="two", priority=3, context=cause)
        defer("later", delay=timedelta(hours=1))

        with database.begin() as connection:
            first, later = jobs.unfinished(connection)

        assert first == JobCall("first", {"id": "x_1"}, timedelta(0), "one", "two", 3, cause)
        assert (later.name, later.context) == ("later", {})
        assert timedelta(minutes=59) < later.delay <= timedelta(hours=1)

    def test_rollback_removes_the_call(self, jobs, database, defer, state):
        with database.connect() as connection:
            connection.begin()
            dropped = jobs.defer(connection, JobCall("dropped"))
            connection.rollback()
        kept = defer("kept")
        recorder = Recorder()

        with running_worker(jobs, recorder):
            until(lambda: state(kept) == JobState.SUCCEEDED)

        assert recorder.names == ["kept"]
        assert dropped == kept or state(dropped) is None

    def test_call_starts_after_the_commit(self, jobs, database):
        recorder = Recorder()

        with running_worker(jobs, recorder):
            with database.begin() as connection:
                jobs.defer(connection, JobCall("later"))
                time.sleep(0.3)
                before = list(recorder.runs)
            until(lambda: recorder.runs)

        assert before == []

    def test_savepoint_rollback_removes_only_its_calls(self, jobs, database, defer):
        recorder = Recorder()
        with database.begin() as connection:
            jobs.defer(connection, JobCall("outer"))
            savepoint = connection.begin_nested()
            jobs.defer(connection, JobCall("inner"))
            savepoint.rollback()

        with running_worker(jobs, recorder):
            until(lambda: recorder.runs)
            time.sleep(0.1)

        assert recorder.names == ["outer"]

    def test_delayed_call_waits_for_its_delay(self, jobs, defer):
        recorder = Recorder()
        enqueued = time.monotonic()
        defer("delayed", delay=timedelta(seconds=0.6))

        with running_worker(jobs, recorder):
            until(lambda: recorder.runs)

        assert 0.55 < recorder.times[0] - enqueued < within(3)

    def test_calls_run_by_priority_and_age(self, jobs, defer):
        recorder = Recorder()
        for name, priority in (("low", -1), ("first", 0), ("second", 0), ("high", 5)):
            defer(name, priority=priority)

        with running_worker(jobs, recorder, concurrency=1):
            until(lambda: len(recorder.runs) == 4)

        assert recorder.names == ["high", "first", "second", "low"]


class UniqueCalls(Suite):
    """Tests of unique keys: at most one call of a key waits."""

    def test_second_unique_call_is_dropped_and_the_transaction_continues(self, jobs, database, defer):
        recorder = Recorder()
        first = defer("index", unique="index:1")
        with database.begin() as connection:
            second = jobs.defer(connection, JobCall("index", unique="index:1"))
            jobs.defer(connection, JobCall("other"))

        with running_worker(jobs, recorder):
            until(lambda: len(recorder.runs) == 2)
            time.sleep(0.1)

        assert (first is not None, second) == (True, None)
        assert sorted(recorder.names) == ["index", "other"]

    def test_unique_call_during_a_run_is_stored(self, jobs, defer):
        go = threading.Event()
        recorder = Recorder(lambda call: go.wait(60))

        with running_worker(jobs, recorder):
            defer("index", unique="index:1")
            until(lambda: recorder.runs)
            second = defer("index", unique="index:1")
            third = defer("index", unique="index:1")
            go.set()
            until(lambda: len(recorder.runs) == 2 or second is None)

        assert second is not None
        assert third is None or len(recorder.runs) >= 2

    def test_waiting_call_starts_after_the_commit_of_the_dropped_call(self, jobs, database, defer):
        recorder = Recorder()
        defer("index", unique="index:1")

        with database.begin() as connection:
            assert jobs.defer(connection, JobCall("index", unique="index:1")) is None
            with running_worker(jobs, recorder):
                time.sleep(0.4)
                before = list(recorder.runs)
                connection.commit()
                until(lambda: recorder.runs)

        assert before == []

    def test_failed_run_with_a_taken_key_runs_again(self, jobs, defer, state):
        go = threading.Event()
        fail_once = failing(OSError(), times=1)
        recorder = Recorder(lambda call: (go.wait(60), fail_once(call)))

        with running_worker(jobs, recorder, concurrency=1):
            first = defer("index", unique="index:1")
            until(lambda: recorder.runs)
            second = defer("index", unique="index:1")
            go.set()
            until(lambda: state(first) == JobState.SUCCEEDED and state(second) in DONE)

        assert len(recorder.runs) == (2 if state(second) is None else 3)


class LockedCalls(Suite):
    """Tests of locks: calls of one lock run one after another."""

    def test_locked_calls_run_sequentially_in_order(self, jobs, defer):
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

        with running_worker(jobs, recorder, concurrency=4):
            until(lambda: len(recorder.runs) == 5)

        assert [name for name in recorder.names if name != "free"] == ["one", "two", "three", "four"]
        assert set(crowds) == {1}
        assert recorder.names.index("free") < 4

    def test_locked_call_waits_for_the_retry_of_the_previous_one(self, jobs, defer):
        fail_once = failing(OSError(), times=1)
        recorder = Recorder(lambda call: fail_once(call) if call.name == "one" else None)
        defer("one", lock="project:1")
        defer("two", lock="project:1")

        with running_worker(jobs, recorder):
            until(lambda: len(recorder.runs) == 3)

        assert recorder.names == ["one", "one", "two"]
