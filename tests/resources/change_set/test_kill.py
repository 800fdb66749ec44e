"""Tests that a set whose publishing process dies is published exactly once.

A process forks for each attempt. The child kills itself (SIGKILL) before its nth statement or Git call, or after a
commit. `tests/faults/test_change_set_kill.py` kills processes of a deployment.
"""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.resources.change_set.conftest import TEXT, Team, come, run_due, run_job
from tests.resources.change_set.races import differences, publish, trailers
from tests.resources.change_set.test_scheduled_publication import waiting

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[3]
STRIDE = 1 if os.environ.get("GALLEY_LONG") else 5
NEVER = 0

DYING = """
import os, signal, sys
from sqlalchemy import event
from app.core import outbound
from app.core.jobs import registry
from app.drivers.jobs.port import JobRun
from app.factory import create_app
from app.extensions import db
from app.worker import JobRunner
from config import Settings

app = create_app(Settings.for_tests(sys.argv[1], DATABASE_URL=sys.argv[2], RATE_LIMIT_SCALE=100000))
with app.app_context():
    engines = (db.engine, app.extensions["reading_engine"])


def publish(point, token, set_id):
    taken = 0

    def step(*_):
        nonlocal taken
        taken += 1
        if taken == point:
            os.kill(os.getpid(), signal.SIGKILL)

    for engine in engines:
        event.listen(engine, "before_cursor_execute", step)
        event.listen(engine, "commit", step)
    outbound.set_check(step)
    if token == "worker":
        call = JobRun("1", "change_sets.publish_scheduled", {"change_set_id": set_id}, 1)
        JobRunner(app, registry, lambda *_: None)(call)
        return taken
    client = app.test_client()
    client.set_cookie("session_token", token)
    assert client.post(f"/api/v1/change-set/{set_id}/publish").status_code == 200
    return taken


for line in sys.stdin:
    point, token, set_id = line.split()
    child = os.fork()
    if child == 0:
        os._exit(publish(int(point), token, set_id))
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""


@pytest.fixture
def publishing_process(store: str, team: Team) -> Iterator["subprocess.Popen[str]"]:
    """Start a process that publishes sets and dies at the requested step."""
    instance = team.world.app.config["SETTINGS"].server.instance_dir
    process = subprocess.Popen(
        [sys.executable, "-c", DYING, str(instance), store],
        cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
    )  # fmt: skip
    with process:
        yield process
        process.kill()


def publish_and_die(process: "subprocess.Popen[str]", point: int, token: str, change_set: dict[str, Any]) -> int:
    """Return the number of steps, or the negative number of the signal that ended the child."""
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(f"{point} {token} {change_set['id']}\n")
    process.stdin.flush()
    return int(process.stdout.readline())


class TestKilledPublication:
    @pytest.mark.parametrize("process", ["web", "worker"])
    def test_killed_publication_is_repeated_and_publishes_once(
        self, team: Team, publishing_process: "subprocess.Popen[str]", process: str
    ) -> None:
        token = team.editor.token if process == "web" else "worker"
        states, point, code = set[tuple[str, int]](), 1, -signal.SIGKILL
        while code == -signal.SIGKILL:
            team.world.drop_jobs()
            made = team.approved(text=TEXT.replace("First", f"Words {point} of"))
            if process == "worker":
                team.schedule(made)
                come(team, made)
            code = publish_and_die(publishing_process, point, token, made)
            left, count = team.read(made), trailers(team, made)
            if code == -signal.SIGKILL:
                states.add((left["state"], count))
            if left["state"] == "publishing":
                assert waiting(team, "change_sets.finish_publication") == 1
                run_job(team, "change_sets.finish_publication", change_set_id=made["id"])
            elif left["state"] == "scheduled":
                run_due(team, made)
            elif left["state"] == "approved":
                publish(team, made).ok()
            assert (team.read(made)["state"], trailers(team, made)) == ("published", 1), f"killed at {point}"
            assert differences(team, made, []) == []
            point += STRIDE
        assert code > 0
        # Before the claim, after it, after the commit, and after its record.
        before = {"web": "approved", "worker": "scheduled"}[process]
        assert {(before, 0), ("publishing", 0), ("publishing", 1)} <= states
        assert states <= {(before, 0), ("publishing", 0), ("publishing", 1), ("published", 1)}
