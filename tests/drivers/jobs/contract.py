"""What every job engine must do, as a suite each engine's tests inherit; they give `url`, a database to use."""

import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from datetime import timedelta
from pathlib import Path

import pytest
import sqlalchemy as sa

from app.core.errors import AppError
from app.core.jobs import Job, JobCall, PermanentFailure
from app.drivers.jobs.policy import Timing
from app.drivers.jobs.port import JobEngine, JobRun, JobState, Run
from tests.drivers.jobs.processes import Diary, diarist, jobs_on, open_engine, worker_process
from tests.drivers.jobs.stores import FAST


def until(condition: Callable[[], object], within_s: float = 8.0) -> None:
    """Wait for a condition; fail when it does not come true."""
    deadline = time.monotonic() + within_s
    while not condition():
        assert time.monotonic() < deadline, "what was waited for did not happen"
        time.sleep(0.01)


@contextmanager
def working(
    jobs: JobEngine, run: Run, declared: Mapping[str, Job] | None = None, concurrency: int = 2
) -> Iterator[None]:
    """A worker in this process."""
    stop = threading.Event()
    options = {"jobs": declared or {}, "stop": stop, "concurrency": concurrency}
    thread = threading.Thread(target=jobs.work, args=(run,), kwargs=options)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join(10)
        assert not thread.is_alive(), "the worker did not stop"


class Recorder:
    """Runs that are remembered, and behave as told."""

    def __init__(self, behave: Callable[[JobRun], object] = lambda call: None) -> None:
        self.runs: list[JobRun] = []
        self.times: list[float] = []
        self._behave = behave

    def __call__(self, call: JobRun) -> None:
        self.times.append(time.monotonic())
        self.runs.append(call)
        self._behave(call)

    @property
    def names(self) -> list[str]:
        return [call.name for call in self.runs]


def failing(error: Exception, times: int = 1_000) -> Callable[[JobRun], None]:
    """Behaviour: raise on the first `times` runs."""
    left = [times]

    def behave(call: JobRun) -> None:
        left[0] -= 1
        if left[0] >= 0:
            raise error

    return behave


class Suite:
    """The fixtures and small steps every class below uses."""

    @pytest.fixture
    def database(self, url: str) -> Iterator[sa.Engine]:
        engine = open_engine(url)
        with engine.begin() as connection:
            jobs_on(engine, FAST).install(connection)
        yield engine
        with engine.begin() as connection:
            jobs_on(engine, FAST).uninstall(connection)
        engine.dispose()

    @pytest.fixture
    def jobs(self, database: sa.Engine) -> JobEngine:
        return jobs_on(database, FAST)

    @pytest.fixture
    def defer(self, jobs: JobEngine, database: sa.Engine) -> Callable[..., str | None]:
        def add(name: str, **options: object) -> str | None:
            with database.begin() as connection:
                return jobs.defer(connection, JobCall(name, **options))

        return add

    @pytest.fixture
    def state(self, jobs: JobEngine, database: sa.Engine) -> Callable[[str], JobState | None]:
        def read(job_id: str) -> JobState | None:
            with database.begin() as connection:
                found = jobs.status(connection, job_id)
            return found and found.state

        return read


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
