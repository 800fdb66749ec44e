"""Tests of the worker process: arguments of a run, commits, log events and the end of the process."""

import logging
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest
import sqlalchemy as sa
import structlog
from flask import Flask
from structlog.testing import capture_logs

from app.core.jobs import Job, JobCall, PermanentFailure
from app.database.engines import prepare_engine
from app.drivers.jobs.embedded.engine import EmbeddedJobs
from app.drivers.jobs.port import JobRun, JobState
from app.drivers.jobs.retry_policy import JobTimings
from app.extensions import db
from app.observability import correlation
from app.worker import JobRunner, UnknownJobError, run_worker

ROOT = Path(__file__).parents[1]
WORDS = sa.table("words", sa.column("word"))


def make_app(path: Path, grace_s: float = 0.5) -> Flask:
    """Build a minimal application with a database, a driver and an engine."""
    app = Flask(__name__)
    app.config["SQLALCHEMY_DATABASE_URI"] = f"sqlite:///{path}"
    db.init_app(app)
    app.extensions["drivers"] = SimpleNamespace(mail="the mail driver")
    with app.app_context():
        prepare_engine(db.engine)
        app.extensions["jobs"] = EmbeddedJobs(db.engine, JobTimings(poll_s=0.02, grace_s=grace_s))
        with db.engine.begin() as connection:
            app.extensions["jobs"].install(connection)
            connection.exec_driver_sql("CREATE TABLE IF NOT EXISTS words (word TEXT)")
    return app


@pytest.fixture
def app(tmp_path: Path) -> Iterator[Flask]:
    app = make_app(tmp_path / "app.db")
    yield app
    with app.app_context():
        db.engine.dispose()


@pytest.fixture
def written_rows(app: Flask) -> Callable[[], list[str]]:
    def read() -> list[str]:
        with app.app_context(), db.engine.begin() as connection:
            return list(connection.scalars(sa.select(WORDS.c.word)))

    return read


def write(word: str, **_: object) -> None:
    db.session.execute(sa.insert(WORDS).values(word=word))


@pytest.fixture
def every_level() -> Iterator[None]:
    """Log at debug level. Other tests configure the level of the process."""
    before = structlog.get_config()["wrapper_class"]
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.DEBUG))
    yield
    structlog.configure(wrapper_class=before)


class TestRunner:
    def call(
        self,
        app: Flask,
        run: Callable[..., object],
        *,
        uses: tuple[str, ...] = (),
        transaction: bool = False,
        **args: object,
    ) -> list:
        reported: list[tuple[str, int, int | None]] = []
        declared = Job("a", run, uses=uses, transaction=transaction)
        runner = JobRunner(app, {"a": declared}, lambda *told: reported.append(told))
        runner(JobRun("7", "a", args, 1))
        return reported

    def test_writes_of_a_job_with_transaction_are_committed(self, app, written_rows):
        self.call(app, write, transaction=True, word="kept")

        assert written_rows() == ["kept"]

    def test_job_without_transaction_starts_in_reading_and_cannot_write(self, app, written_rows):
        with pytest.raises(RuntimeError, match="state READING"):
            self.call(app, write, word="refused")

        assert written_rows() == []

    def test_writes_of_a_failing_job_are_rolled_back_and_its_error_is_raised(self, app, written_rows):
        def fail(word: str) -> None:
            write(word)
            raise PermanentFailure("no")

        with pytest.raises(PermanentFailure):
            self.call(app, fail, transaction=True, word="dropped")

        assert written_rows() == []

    def test_job_receives_the_drivers_it_uses(self, app):
        items: list[object] = []

        self.call(app, lambda *, mail: items.append(mail), uses=("mail",))

        assert items == ["the mail driver"]

    def test_progress_of_a_job_is_reported_with_its_id(self, app):
        reported = self.call(app, lambda *, progress: progress(3, 10), uses=("progress",))

        assert reported == [("7", 3, 10)]

    def test_log_context_of_a_job_contains_the_request_id(self, app):
        seen: list[object] = []
        runner = JobRunner(app, {"a": Job("a", lambda: seen.append(correlation.inject_context()))}, print)

        runner(JobRun("7", "a", {}, 1, {"request_id": "a-request"}))
        runner(JobRun("8", "a", {}, 1))

        assert seen == [{"request_id": "a-request"}, {}]

    def test_undeclared_job_raises_unknown_job_error(self, app):
        with pytest.raises(UnknownJobError):
            JobRunner(app, {}, print)(JobRun("7", "newer", {}, 1))

    def test_log_of_a_job_contains_name_id_attempt_and_duration_and_no_arguments(self, app, every_level):
        with capture_logs() as lines:
            self.call(app, write, transaction=True, word="unmistakable")

        assert [line["event"] for line in lines] == ["job.started", "job.finished"]
        assert {(line["job"], line["job_id"], line["attempt"]) for line in lines} == {("a", "7", 1)}
        assert {line["log_level"] for line in lines} == {"debug"}
        assert lines[1]["duration_ms"] >= 0
        assert "unmistakable" not in str(lines)

    def test_log_of_a_failure_contains_its_position_and_no_message(self, app):
        def fail() -> None:
            raise ValueError("token=unmistakable")

        with capture_logs() as lines, pytest.raises(ValueError, match="token"):
            self.call(app, fail)

        assert (lines[-1]["event"], lines[-1]["error"]) == ("job.failed", "ValueError")
        assert lines[-1]["at"].startswith(__file__)
        assert "unmistakable" not in str(lines)


class TestRunWorker:
    def defer(self, app: Flask, name: str, **args: object) -> str:
        with app.app_context(), db.engine.begin() as connection:
            return app.extensions["jobs"].defer(connection, JobCall(name, args))

    def state(self, app: Flask, job_id: str) -> JobState:
        with app.app_context(), db.engine.begin() as connection:
            return app.extensions["jobs"].status(connection, job_id).state

    @pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
    def test_signal_stops_the_worker_after_the_running_job(self, app, written_rows, number):
        def slow(word: str) -> None:
            os.kill(os.getpid(), number)
            time.sleep(0.3)
            write(word)

        before = signal.getsignal(number)
        job_id = self.defer(app, "slow", word="ended")

        run_worker(app, jobs={"slow": Job("slow", slow, transaction=True)}, concurrency=1)

        assert written_rows() == ["ended"]
        assert self.state(app, job_id) == JobState.SUCCEEDED
        assert signal.getsignal(number) is before

    def test_engine_that_stops_without_a_signal_raises(self, app):
        app.extensions["jobs"].work = lambda *_, **__: None

        with pytest.raises(RuntimeError, match="stopped without a signal"):
            run_worker(app)

    def test_job_beyond_the_grace_period_is_requeued_and_the_process_exits(self, app, tmp_path):
        job_id = self.defer(app, "endless", path=str(tmp_path / "started"))
        script = f"""
import sys, time, pathlib, importlib.util
spec = importlib.util.spec_from_file_location("worker_tests", {__file__!r})
tests = importlib.util.module_from_spec(spec); spec.loader.exec_module(tests)
def endless(path):
    pathlib.Path(path).touch()
    time.sleep(60)
tests.run_worker(tests.make_app(pathlib.Path({str(tmp_path / "app.db")!r})), jobs={{"endless": tests.Job("endless", endless)}})
"""
        process = subprocess.Popen([sys.executable, "-c", script], env={**os.environ, "PYTHONPATH": str(ROOT)})
        try:
            deadline = time.monotonic() + 120
            while not (tmp_path / "started").exists():
                assert time.monotonic() < deadline
                time.sleep(0.02)
            process.terminate()
            code = process.wait(60)
        finally:
            process.kill()
            process.wait(60)

        assert code == 0
        assert self.state(app, job_id) == JobState.WAITING

    def test_patched_process_is_refused(self):
        script = (
            "from gevent import monkey; monkey.patch_all()\n"
            "from flask import Flask\n"
            "from app.worker import run_worker\n"
            "run_worker(Flask('x'))\n"
        )

        ended = subprocess.run(
            [sys.executable, "-c", script], capture_output=True, env={**os.environ, "PYTHONPATH": str(ROOT)}, timeout=30
        )

        assert ended.returncode == 1
        assert b"requires threads" in ended.stderr


class TestThreads:
    def test_calls_run_in_parallel_up_to_the_concurrency(self, app):
        together = threading.Barrier(3, timeout=60)
        met: list[int] = []

        def meet() -> None:
            met.append(together.wait())
            if len(met) == 3:
                os.kill(os.getpid(), signal.SIGTERM)

        with app.app_context(), db.engine.begin() as connection:
            for _ in range(3):
                app.extensions["jobs"].defer(connection, JobCall("meet"))

        run_worker(app, jobs={"meet": Job("meet", meet)}, concurrency=3)

        assert sorted(met) == [0, 1, 2]
