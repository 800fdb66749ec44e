"""Workers killed at random while 300 jobs run, with the engines' production timing: nothing lost, and how soon taken up.

Takes about two minutes an engine; run by `make faults`.
"""

import random
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import sqlalchemy as sa

from app.core.jobs import JobCall
from app.drivers.jobs.policy import Timing
from app.drivers.jobs.port import JobEngine, QueueCounts
from tests.drivers.jobs.processes import Diary, jobs_on, open_engine, start_worker
from tests.drivers.jobs.stores import postgres_database, sqlite_url

JOBS, KILLS, ROLLED_BACK_EVERY = 300, 20, 10
SECONDS = (0.1, 0.6)
PAUSE_S = (1.0, 4.0)
PROMISED_S = 90
PATIENCE_S = 240
ROLLED_BACK = -1


@dataclass(frozen=True)
class Kill:
    """One kill -9: which process and when."""

    pid: int
    at_s: float


@pytest.fixture(params=["embedded", "procrastinate"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    if request.param == "embedded":
        yield sqlite_url(tmp_path)
        return
    with postgres_database() as made:
        yield made


class TestRandomKills:
    def test_no_job_is_lost_and_each_is_taken_up_in_time(self, url, tmp_path, capsys):
        database, diary = open_engine(url), Diary(tmp_path / "diary")
        jobs = jobs_on(database, Timing())
        with database.begin() as connection:
            jobs.install(connection)
        # One node on SQLite; on PostgreSQL two, so that another one takes up what the killed one ran.
        nodes = 2 if database.dialect.name == "postgresql" else 1

        enqueue(jobs, database)
        kills = kill_at_random(lambda: start_worker(url, diary, Timing()), nodes, until_idle(jobs, database))
        with database.begin() as connection:
            counts = jobs.counts(connection)
        database.dispose()

        takeovers_s = takeovers(diary, kills)
        with capsys.disabled():
            print(f"\n{jobs.__class__.__name__}: {len(kills)} kills cut off {len(takeovers_s)} runs;", end=" ")
            print(f"taken up after {min(takeovers_s):.1f} to {max(takeovers_s):.1f} s")
        assert len(kills) == KILLS
        assert takeovers_s
        assert max(takeovers_s) <= PROMISED_S
        assert {entry.number for entry in diary.read() if entry.what == "end"} == set(range(JOBS))
        assert (counts.waiting, counts.running, counts.dead) == (0, 0, 0)


def enqueue(jobs: JobEngine, database: sa.Engine) -> None:
    """Enqueue the jobs, each in a transaction, and between them some that are rolled back."""
    for number in range(JOBS):
        with database.begin() as connection:
            jobs.defer(connection, sleep(number))
        if number % ROLLED_BACK_EVERY == 0:
            with database.connect() as connection:
                connection.begin()
                jobs.defer(connection, sleep(ROLLED_BACK))
                connection.rollback()


def sleep(number: int) -> JobCall:
    return JobCall("sleep", {"number": number, "seconds": random.uniform(*SECONDS)})


def until_idle(jobs: JobEngine, database: sa.Engine) -> Callable[[], bool]:
    def is_idle() -> bool:
        with database.begin() as connection:
            counts: QueueCounts = jobs.counts(connection)
        return counts.waiting + counts.running == 0

    return is_idle


def kill_at_random(start: Callable[[], subprocess.Popen[bytes]], nodes: int, is_idle: Callable[[], bool]) -> list[Kill]:
    """Kill a random worker again and again, starting another for it; then let the rest finish."""
    workers, kills = [start() for _ in range(nodes)], []
    try:
        for _ in range(KILLS):
            time.sleep(random.uniform(*PAUSE_S))
            victim = workers.pop(random.randrange(nodes))
            victim.kill()
            kills.append(Kill(victim.pid, time.time()))
            victim.wait(5)
            workers.append(start())
        deadline = time.monotonic() + PATIENCE_S
        while not is_idle() and time.monotonic() < deadline:
            time.sleep(0.5)
    finally:
        for worker in workers:
            worker.kill()
            worker.wait(5)
    return kills


def takeovers(diary: Diary, kills: list[Kill]) -> list[float]:
    """For each run that a kill cut off, the seconds until its job was started again."""
    entries = diary.read()
    ended = {(entry.job_id, entry.pid) for entry in entries if entry.what == "end"}
    found = []
    for kill in kills:
        cut_off = [e for e in entries if e.what == "start" and e.pid == kill.pid and (e.job_id, e.pid) not in ended]
        for run in cut_off:
            later = [e.at_s for e in entries if e.what == "start" and e.job_id == run.job_id and e.at_s > kill.at_s]
            found.append(min(later, default=float("inf")) - kill.at_s)
    return found
