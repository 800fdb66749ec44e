"""A worker in a subprocess that tests can kill, and a log of its runs.

Usage: `python processes.py <database url> <run log> <timing json>`. The module imports nothing of `tests`, because an
installed package has the same name.
"""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

import sqlalchemy as sa

from app.core.jobs import Job
from app.database.engines import engine_options, prepare_engine
from app.drivers.jobs.embedded.engine import EmbeddedJobs
from app.drivers.jobs.port import JobEngine, JobRun
from app.drivers.jobs.postgresql.engine import ProcrastinateJobs
from app.drivers.jobs.retry_policy import JobTimings

ROOT = Path(__file__).parents[3]


def open_engine(url: str) -> sa.Engine:
    """Return an engine with the settings of the application."""
    engine = sa.create_engine(url, **engine_options(url))
    prepare_engine(engine)
    return engine


def job_engine_for(engine: sa.Engine, timing: JobTimings) -> JobEngine:
    """Return the job engine of a database."""
    return ProcrastinateJobs(engine, timing) if engine.dialect.name == "postgresql" else EmbeddedJobs(engine, timing)


@dataclass(frozen=True)
class Entry:
    """A line of the log: the start or end of a run, its process and its time."""

    event: str
    job_id: str
    number: int
    pid: int
    at_s: float


class RunLog:
    """A log of runs. Each line is written with one call, so a kill loses no complete line."""

    def __init__(self, path: Path) -> None:
        self.path = path
        path.touch()

    def write(self, event: str, call: JobRun) -> None:
        """Append a line."""
        line = json.dumps([event, call.id, call.args.get("number", 0), os.getpid(), time.time()]) + "\n"
        handle = os.open(self.path, os.O_WRONLY | os.O_APPEND)
        os.write(handle, line.encode())
        os.close(handle)

    def read(self) -> list[Entry]:
        """Return all entries in order."""
        return [Entry(*json.loads(line)) for line in self.path.read_text().splitlines()]


def recording_run(run_log: RunLog) -> Callable[[JobRun], None]:
    """Return the job function: `sleep` and `fail` last `seconds`, `die` kills its process."""

    def run(call: JobRun) -> None:
        run_log.write("start", call)
        if call.name == "die":
            os.kill(os.getpid(), signal.SIGKILL)
        time.sleep(call.args["seconds"])
        if call.name == "fail":
            raise OSError
        run_log.write("end", call)

    return run


def start_worker(url: str, run_log: RunLog, timing: JobTimings) -> subprocess.Popen[bytes]:
    """Start a worker process. The caller ends it."""
    arguments = [url, str(run_log.path), json.dumps(asdict(timing))]
    return subprocess.Popen([sys.executable, __file__, *arguments], env={**os.environ, "PYTHONPATH": str(ROOT)})


@contextmanager
def worker_process(url: str, run_log: RunLog, timing: JobTimings) -> Iterator[subprocess.Popen[bytes]]:
    """Run a worker process and kill it at the end."""
    process = start_worker(url, run_log, timing)
    try:
        yield process
    finally:
        process.kill()
        process.wait(60)


def main() -> None:
    url, path, timing = sys.argv[1:]
    stop = threading.Event()
    run = recording_run(RunLog(Path(path)))
    declared = {name: Job(name, print) for name in ("sleep", "fail", "die")}
    job_engine_for(open_engine(url), JobTimings(**json.loads(timing))).work(
        run, jobs=declared, stop=stop, concurrency=4
    )


if __name__ == "__main__":
    main()
