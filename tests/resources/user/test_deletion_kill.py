"""Tests that a process that dies during the deletion of an account deletes all rows or none.

A process forks for each attempt. The child kills itself (SIGKILL) before its nth statement or after a commit.
"""

import os
import random
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from flask import Flask

from tests.contract.stored import rows_naming
from tests.support import factories
from tests.support.world import Person, World

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[3]
KILLS = 60 if os.environ.get("GALLEY_LONG") else 8
NEVER = 0

DYING = """
import os, signal, sys
from sqlalchemy import event
from app.factory import create_app
from app.extensions import db
from config import Settings

app = create_app(Settings.for_tests(sys.argv[1], DATABASE_URL=sys.argv[2], RATE_LIMIT_SCALE=100000))
with app.app_context():
    engines = (db.engine, app.extensions["reading_engine"])


def delete(point, token, user_id):
    taken = 0

    def step(*_):
        nonlocal taken
        taken += 1
        if taken == point:
            os.kill(os.getpid(), signal.SIGKILL)

    for engine in engines:
        event.listen(engine, "before_cursor_execute", step)
    with app.app_context():
        event.listen(db.session, "after_commit", step)
    client = app.test_client()
    client.set_cookie("session_token", token)
    assert client.delete(f"/api/v1/user/delete/{user_id}").status_code == 200
    return taken


for line in sys.stdin:
    point, token, user_id = line.split()
    child = os.fork()
    if child == 0:
        os._exit(delete(int(point), token, user_id))
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""


@pytest.fixture
def deleting_process(store: str, tmp_path: Path) -> Iterator["subprocess.Popen[str]"]:
    """Start a process that deletes accounts and dies at the requested statement."""
    process = subprocess.Popen(
        [sys.executable, "-c", DYING, str(tmp_path), store],
        cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
    )  # fmt: skip
    with process:
        yield process
        process.kill()


class TestKilledDeletion:
    def test_killed_deletion_deletes_all_rows_or_none(
        self, app: Flask, world: World, deleting_process: "subprocess.Popen[str]"
    ) -> None:
        person, names, _ = _new_account(app, world)
        steps = _delete(deleting_process, NEVER, person)
        assert steps > KILLS
        assert _rows(app, names) == {}
        unharmed = 0
        for point in random.Random(steps).sample(range(1, steps), KILLS):
            person, names, before = _new_account(app, world)
            code = _delete(deleting_process, point, person)
            after = _rows(app, names)
            assert code == -signal.SIGKILL
            assert after in (before, {}), f"killed at {point}"
            unharmed += after == before
        assert unharmed


def _new_account(app: Flask, world: World) -> tuple[Person, set[str], dict[str, int]]:
    """Return a person with an organization, a project and a preference, the ids of these, and the row counts by table."""
    person = world.person()
    org = factories.organization(world, person)
    name, _ = factories.repository(world, {"content/a.md": b"# A\n"})
    project = factories.project(world, person, org, name)
    person.patch(f"/user-preference/{person.id}", {"theme": "dark"}).ok()
    names = {person.id, person.email, org, project}
    return person, names, _rows(app, names)


def _rows(app: Flask, names: set[str]) -> dict[str, int]:
    """Count the rows with one of the names by table, without the tables of the job queue."""
    rows = rows_naming(app, names)
    return {table: count for table, count in rows.items() if "job" not in table and "procrastinate" not in table}


def _delete(deleting_process: "subprocess.Popen[str]", point: int, person: Person) -> int:
    """Return the number of statements, or the negative number of the signal that ended the child."""
    assert deleting_process.stdin is not None
    assert deleting_process.stdout is not None
    deleting_process.stdin.write(f"{point} {person.token} {person.id}\n")
    deleting_process.stdin.flush()
    return int(deleting_process.stdout.readline())
