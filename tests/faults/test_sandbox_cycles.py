"""Tests of repeated previews, killed supervisors and killed web workers. Nothing of a sandbox may remain.

With `GALLEY_LONG=1` there are 100 cycles, 20 killed supervisors and 20 killed web workers, else a tenth of that.
"""

import os
import random
import signal
import sqlite3
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from app.drivers.sandbox.local.supervisor.bubblewrap import outer_user
from tests.drivers.sandbox.machine import jails_of, leftovers, processes_of
from tests.serving.member import Member, root_of
from tests.serving.processes import Service, running

TIMES = 10 if os.environ.get("GALLEY_LONG") else 1
CYCLES, KILLS = 10 * TIMES, 2 * TIMES
PROMISED_S = 60
DESCRIPTORS_MORE = 15
"""A worker keeps connections to its database. A leak of a hundred sockets would exceed this number."""


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Service]:
    with running(tmp_path) as service:
        yield service


def live_rows(service: Service) -> int:
    """Return the number of rows with an active sandbox."""
    with sqlite3.connect(service.home / "instance" / "app.db") as database:
        result = database.execute("SELECT count(*) FROM sandboxes WHERE state IN ('starting', 'running')").fetchone()
    database.close()
    return int(result[0])


def sandbox_remains(service: Service, names: list[str]) -> dict[str, object]:
    """Return the remains of sandboxes on the machine and in the database. Empty if there are none."""
    users = [user for user in map(outer_user, names) if user is not None]
    result: dict[str, object] = {**leftovers(root_of(service)), "rows": live_rows(service)}
    result["guests"] = [pid for user in users for pid in processes_of(user)]
    return {kind: what for kind, what in result.items() if what}


def wait_until_removed(service: Service, names: list[str]) -> float:
    """Wait until no remains exist, at most one minute. Return the seconds."""
    started = time.monotonic()
    while left := sandbox_remains(service, names):
        assert time.monotonic() < started + PROMISED_S, left
        time.sleep(0.1)
    return time.monotonic() - started


def children(pid: int) -> list[int]:
    return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def web_workers(service: Service) -> list[int]:
    """Return the worker processes of gunicorn."""
    masters = [pid for pid in children(service.process.pid) if b"gunicorn" in Path(f"/proc/{pid}/cmdline").read_bytes()]
    return [pid for master in masters for pid in children(master)]


def descriptors(service: Service) -> int:
    """Return the number of open descriptors of the web workers."""
    return sum(len(list(Path(f"/proc/{pid}/fd").iterdir())) for pid in web_workers(service))


class TestCycles:
    def test_preview_cycles_leave_no_process_folder_or_descriptor(self, service: Service) -> None:
        owner, names = Member(service), list[str]()
        for number in range(CYCLES):
            names.append(owner.create()["sandboxName"])
            owner.stop()
            if number == 2:
                before = descriptors(service)
        assert len(set(names)) == CYCLES
        after_s = wait_until_removed(service, names)
        print(f"\n{CYCLES} cycles: nothing left after {after_s:.1f} s; descriptors {before} → {descriptors(service)}")
        assert descriptors(service) <= before + DESCRIPTORS_MORE


class TestKills:
    def test_killed_supervisors_leave_no_process_or_folder(self, service: Service) -> None:
        owner, took_s = Member(service), list[float]()
        for _ in range(KILLS):
            name = owner.create()["sandboxName"]
            os.kill(jails_of(root_of(service), name)[0], signal.SIGKILL)
            took_s.append(wait_until_removed(service, [name]))
        print(f"\n{KILLS} killed supervisors: nothing left after {max(took_s):.1f} s at most")

    def test_web_workers_killed_during_starts_leave_no_sandbox_and_do_not_block_the_next_start(
        self, service: Service
    ) -> None:
        """Workers are killed between the claim and the response. The next call has a preview within a minute."""
        random.seed(20)
        owner, took_s = Member(service), list[float]()
        for _ in range(KILLS):
            with ThreadPoolExecutor(1) as pool:
                call = pool.submit(owner.create)
                time.sleep(random.uniform(0.01, 0.8))
                for pid in web_workers(service):
                    os.kill(pid, signal.SIGKILL)
                started = time.monotonic()
                call.exception()
            name = self.created_again(owner, started)
            took_s.append(time.monotonic() - started)
            owner.stop()
            wait_until_removed(service, [name])
        print(f"\n{KILLS} killed web workers: a preview again after {max(took_s):.1f} s at most")

    @staticmethod
    def created_again(owner: Member, started: float) -> str:
        while True:
            try:
                return str(owner.create()["sandboxName"])
            except (AssertionError, OSError):  # the worker has not restarted, or the lost start has not expired
                assert time.monotonic() < started + PROMISED_S
                time.sleep(0.5)
