"""Tests of workers that are killed at random during 300 jobs, with the production timing of the engines.

They take about two minutes per engine. Run them with `make faults`.
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
from app.drivers.jobs.port import JobEngine, QueueCounts
from app.drivers.jobs.retry_policy import JobTimings
from tests.drivers.jobs.processes import RunLog, job_engine_for, open_engine, start_worker
from tests.drivers.jobs.stores import postgres_database, sqlite_url

JOBS, KILLS, ROLLED_BACK_EVERY = 300, 20, 10
SECONDS = (0.1, 0.6)
PAUSE_S = (1.0, 4.0)
PROMISED_S = 60
TIMEOUT_S = 240
ROLLED_BACK = -1


@dataclass(frozen=True)
class Kill:
    """A kill of a process and its time."""

    pid: int
    at_s: float


@pytest.fixture(params=["embedded", "procrastinate"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    if request.param == "embedded":
        yield sqlite_url(tmp_path)
        return
    with postgres_database() as created:
        yield created


class TestRandomKills:
    def test_killed_workers_lose_no_job(self, url, tmp_path, capsys):
        database, run_log = open_engine(url), RunLog(tmp_path / "run_log")
        jobs = job_engine_for(database, JobTimings())
        with database.begin() as connection:
            jobs.install(connection)
        # SQLite supports one node. On PostgreSQL, a second node runs the calls of the killed one.
        nodes = 2 if database.dialect.name == "postgresql" else 1

        enqueue(jobs, database)
        kills = kill_at_random(lambda: start_worker(url, run_log, JobTimings()), nodes, until_idle(jobs, database))
        with database.begin() as connection:
            counts = jobs.counts(connection)
            claims = claims_of(connection)
        database.dispose()

        takeovers_s = takeovers(run_log, claims, kills)
        with capsys.disabled():
            print(f"\n{jobs.__class__.__name__}: {len(kills)} kills cut off {len(takeovers_s)} runs;", end=" ")
            print(f"taken up after {min(takeovers_s):.1f} to {max(takeovers_s):.1f} s")
        assert len(kills) == KILLS
        assert takeovers_s
        assert max(takeovers_s) <= PROMISED_S
        assert {entry.number for entry in run_log.read() if entry.event == "end"} == set(range(JOBS))
        assert (counts.waiting, counts.running, counts.dead) == (0, 0, 0)


def enqueue(jobs: JobEngine, database: sa.Engine) -> None:
    """Enqueue the jobs in separate transactions, some of which are rolled back."""
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
    """Kill a random worker repeatedly and start another one. Then let the remaining jobs finish."""
    workers, kills = [start() for _ in range(nodes)], []
    try:
        for _ in range(KILLS):
            time.sleep(random.uniform(*PAUSE_S))
            victim = workers.pop(random.randrange(nodes))
            victim.kill()
            kills.append(Kill(victim.pid, time.time()))
            victim.wait(5)
            workers.append(start())
        deadline = time.monotonic() + TIMEOUT_S
        while not is_idle() and time.monotonic() < deadline:
            time.sleep(0.5)
    finally:
        for worker in workers:
            worker.kill()
            worker.wait(5)
    return kills


def claims_of(connection: sa.Connection) -> dict[str, list[float]]:
    """Return the times at which workers claimed each job, by its id. SQLite stores none.

    A worker that is killed between the claim and the start of a job leaves no line in the log of runs.
    """
    if connection.dialect.name == "sqlite":
        return {}
    result: dict[str, list[float]] = {}
    for job_id, at in connection.execute(sa.text("SELECT job_id, at FROM procrastinate_events WHERE type = 'started'")):
        result.setdefault(str(job_id), []).append(at.timestamp())
    return result


def takeovers(run_log: RunLog, claims: dict[str, list[float]], kills: list[Kill]) -> list[float]:
    """Return the seconds until the next claim or start of each interrupted job."""
    entries = run_log.read()
    ended = {(entry.job_id, entry.pid) for entry in entries if entry.event == "end"}
    result = []
    for kill in kills:
        cut_off = [e for e in entries if e.event == "start" and e.pid == kill.pid and (e.job_id, e.pid) not in ended]
        for run in cut_off:
            starts = [e.at_s for e in entries if e.event == "start" and e.job_id == run.job_id]
            later = [at_s for at_s in [*starts, *claims.get(str(run.job_id), [])] if at_s > kill.at_s]
            result.append(min(later, default=float("inf")) - kill.at_s)
    return result
