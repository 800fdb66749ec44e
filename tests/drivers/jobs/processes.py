"""A worker in a process of its own, to be killed; and the diary its runs write.

Run as `python processes.py <database url> <diary> <timing json>`; for that it imports nothing of `tests`, a name some
installed package has taken.
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

from app.core.database import engine_options, prepare_engine
from app.core.jobs import Job
from app.drivers.jobs.embedded import EmbeddedJobs
from app.drivers.jobs.policy import Timing
from app.drivers.jobs.port import JobEngine, JobRun
from app.drivers.jobs.procrastinate import ProcrastinateJobs

ROOT = Path(__file__).parents[3]


def open_engine(url: str) -> sa.Engine:
    """An engine as the application makes it."""
    engine = sa.create_engine(url, **engine_options(url))
    prepare_engine(engine)
    return engine


def jobs_on(engine: sa.Engine, timing: Timing) -> JobEngine:
    """The job engine for a store."""
    return ProcrastinateJobs(engine, timing) if engine.dialect.name == "postgresql" else EmbeddedJobs(engine, timing)


@dataclass(frozen=True)
class Entry:
    """A line of the diary: a run began or ended, in which process and when."""

    what: str
    job_id: str
    number: int
    pid: int
    at_s: float


class Diary:
    """What runs write down, one line at a time, so that nothing of it is lost with a killed process."""

    def __init__(self, path: Path) -> None:
        self.path = path
        path.touch()

    def write(self, what: str, call: JobRun) -> None:
        """Append a line."""
        line = json.dumps([what, call.id, call.args.get("number", 0), os.getpid(), time.time()]) + "\n"
        handle = os.open(self.path, os.O_WRONLY | os.O_APPEND)
        os.write(handle, line.encode())
        os.close(handle)

    def read(self) -> list[Entry]:
        """All of it, in order."""
        return [Entry(*json.loads(line)) for line in self.path.read_text().splitlines()]


def diarist(diary: Diary) -> Callable[[JobRun], None]:
    """What the processes run: `sleep` takes `seconds`, `die` takes its process along."""

    def run(call: JobRun) -> None:
        diary.write("start", call)
        if call.name == "die":
            os.kill(os.getpid(), signal.SIGKILL)
        time.sleep(call.args["seconds"])
        diary.write("end", call)

    return run


def start_worker(url: str, diary: Diary, timing: Timing) -> subprocess.Popen[bytes]:
    """Start a worker's process; the caller ends it."""
    arguments = [url, str(diary.path), json.dumps(asdict(timing))]
    return subprocess.Popen([sys.executable, __file__, *arguments], env={**os.environ, "PYTHONPATH": str(ROOT)})


@contextmanager
def worker_process(url: str, diary: Diary, timing: Timing) -> Iterator[subprocess.Popen[bytes]]:
    """A worker's process that is gone afterwards, whatever happens."""
    process = start_worker(url, diary, timing)
    try:
        yield process
    finally:
        process.kill()
        process.wait(5)


def main() -> None:
    url, path, timing = sys.argv[1:]
    stop = threading.Event()
    run = diarist(Diary(Path(path)))
    declared = {name: Job(name, print) for name in ("sleep", "die")}
    jobs_on(open_engine(url), Timing(**json.loads(timing))).work(run, jobs=declared, stop=stop, concurrency=4)


if __name__ == "__main__":
    main()
