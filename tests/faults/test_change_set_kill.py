"""Tests of publications while a web process or the worker is killed, and of a time at which no worker runs.

They take about ten minutes per engine. `KILLS` sets the number of kills. The short form is
`tests/resources/change_set/test_kill.py`.
"""

import os
import random
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest
import requests

from app.extensions import db, jobs
from tests.faults.kills import Site
from tests.resources.change_set.conftest import TEXT, Team, come, make_team
from tests.resources.change_set.races import trailers
from tests.support.databases import another_database
from tests.support.servers.service import Service

KILLS = int(os.environ.get("KILLS", "20"))
AFTER_KILL_S, AFTER_RETURN_S = 66, 36
TIMEOUT_S = 120
WEB_DELAY_S, WORKER_DELAY_S = (0.0, 0.15), (0.0, 1.3)
DUE_SETS, ABSENT_S = 5, 5.0


@pytest.fixture
def service(store: str, tmp_path: Path) -> Iterator[Service]:
    with (
        another_database(store, tmp_path, is_empty=True) as url,
        Service(tmp_path, DATABASE_URL=url, MAIL_DIR=str(tmp_path / "mail")) as created,
    ):
        yield created


@pytest.fixture
def site(service: Service) -> Iterator[Site]:
    created = Site(service)
    yield created
    created.close()


@pytest.fixture
def team(service: Service) -> Team:
    return make_team(service.world)


def state_of(team: Team, made: dict[str, Any]) -> str:
    return str(team.read(made)["state"])


def await_publication(team: Team, made: dict[str, Any], since_s: float, repeat: Callable[[], None]) -> float:
    """Wait until a set is published. Return the seconds since a moment. `repeat` runs while it is approved."""
    while state_of(team, made) != "published":
        assert time.monotonic() < since_s + TIMEOUT_S, state_of(team, made)
        if state_of(team, made) == "approved":
            repeat()
        time.sleep(0.1)
    return time.monotonic() - since_s


def let_come(team: Team, *sets: dict[str, Any]) -> None:
    """Move the times of scheduled sets and the call at these times to the present."""
    come(team, *sets)
    with team.world.app.app_context():
        jobs.enqueue("change_sets.publish_due")
        db.session.commit()


def report(capsys: pytest.CaptureFixture[str], service: Service, text: str) -> None:
    with capsys.disabled():
        print(f"\n{service.app.config['SETTINGS'].database.url.partition(':')[0]}: {text}")


class TestKills:
    def test_set_is_published_once_after_a_kill_of_the_web_process(
        self, service: Service, site: Site, team: Team, capsys: pytest.CaptureFixture[str]
    ) -> None:
        generator, durations, found = random.Random(5), list[float](), Counter[str]()
        client = service.client(team.editor)

        def publish(made: dict[str, Any]) -> None:
            try:
                answer = client.post(f"{service.url}/api/v1/change-set/{made['id']}/publish", timeout=30)
            except requests.RequestException:
                return
            assert answer.status_code in (200, 409, 502, 503, 504), answer.text

        for number in range(KILLS):
            made = team.approved(text=TEXT.replace("First", f"Words {number} of"))
            request = threading.Thread(target=publish, args=(made,))
            request.start()
            time.sleep(generator.uniform(*WEB_DELAY_S))
            for process in psutil.Process(service.process.pid).children():
                process.kill()
            killed_s = time.monotonic()
            found[f"{state_of(team, made)}, {trailers(team, made)} commits"] += 1
            request.join()
            durations.append(await_publication(team, made, killed_s, lambda made=made: publish(made)))  # type: ignore[misc]
            assert trailers(team, made) == 1
        report(capsys, service, f"{KILLS} kills of web processes: {dict(found)}; longest {max(durations):.1f} s")
        assert max(durations) <= AFTER_KILL_S

    def test_set_is_published_once_after_a_kill_of_the_worker(
        self, service: Service, site: Site, team: Team, capsys: pytest.CaptureFixture[str]
    ) -> None:
        generator, durations, found = random.Random(6), list[float](), Counter[str]()
        for number in range(KILLS):
            made = team.approved(text=TEXT.replace("First", f"Words {number} of"))
            team.schedule(made)
            let_come(team, made)
            time.sleep(generator.uniform(*WORKER_DELAY_S))
            site.worker.kill()
            site.worker.wait(10)
            killed_s = time.monotonic()
            found[f"{state_of(team, made)}, {trailers(team, made)} commits"] += 1
            site.start_worker()
            durations.append(await_publication(team, made, killed_s, lambda: None))
            assert trailers(team, made) == 1
        report(capsys, service, f"{KILLS} kills of the worker: {dict(found)}; longest {max(durations):.1f} s")
        assert max(durations) <= AFTER_KILL_S


class TestAbsentWorker:
    def test_set_is_published_once_after_the_return_of_the_worker(
        self, service: Service, site: Site, team: Team, capsys: pytest.CaptureFixture[str]
    ) -> None:
        team.configure(required_approvals=0)
        sets = [team.new(f"Set {number}") for number in range(DUE_SETS)]
        for number, made in enumerate(sets):
            team.commit(made, {"path": f"content/{number}.md", "action": "create", "content": "x\n"}).ok(201)
            team.schedule(made)
        site.worker.terminate()
        site.worker.wait(40)
        let_come(team, *sets)
        time.sleep(ABSENT_S)
        assert {state_of(team, made) for made in sets} == {"scheduled"}
        returned_s = time.monotonic()
        site.start_worker()
        durations = [await_publication(team, made, returned_s, lambda: None) for made in sets]
        assert [trailers(team, made) for made in sets] == [1] * DUE_SETS
        report(capsys, service, f"{DUE_SETS} sets are published {max(durations):.1f} s after the worker returned")
        assert max(durations) <= AFTER_RETURN_S
