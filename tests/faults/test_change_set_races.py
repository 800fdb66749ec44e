"""Races of parallel steps of change sets on PostgreSQL, 200 rounds, and 500 sets that are due in one second.

`RACE_ROUNDS` and `DUE_SETS` set other numbers. The short form is `tests/resources/change_set/test_races.py`.
"""

import os
import random
import time
from collections import Counter

import pytest
import sqlalchemy as sa

from app.core import clock
from app.extensions import db
from app.models.change_set import ChangeSet, ChangeSetSchedule
from tests.resources.change_set.conftest import make_team, run_job
from tests.resources.change_set.races import race
from tests.support.world import World

ROUNDS, DUE_SETS = int(os.environ.get("RACE_ROUNDS", "200")), int(os.environ.get("DUE_SETS", "500"))
SETS_A_PROJECT = 100
WITHIN_S = 900


@pytest.mark.parametrize("store", ["postgresql"], indirect=True)
def test_parallel_steps_leave_sets_that_agree_with_git(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    generator, outcomes, errors = random.Random(11), Counter[str](), list[str]()
    for number in range(ROUNDS):
        if number % 50 == 0:  # The history of a repository makes the check slower.
            team = make_team(world)
        counted, wrong = race(team, generator)
        outcomes += counted
        errors += wrong
    with capsys.disabled():
        print(f"\n{ROUNDS} rounds: {dict(sorted(outcomes.items()))}; errors: {len(errors)}")
    assert errors == []


def test_sets_that_are_due_in_one_second_are_published_once(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    teams = [make_team(world) for _ in range(-(-DUE_SETS // SETS_A_PROJECT))]
    due, ids = clock.now().replace(microsecond=0), set[str]()
    for number in range(DUE_SETS):
        team = teams[number % len(teams)]
        team.configure(required_approvals=0)
        made = team.new(f"Set {number}")
        file = {"path": f"content/{number}.md", "action": "create", "content": f"{number}\n"}
        team.commit(made, file).ok(201)
        team.schedule(team.read(made))
        ids.add(made["id"])
    with world.app.app_context():
        db.session.execute(sa.update(ChangeSetSchedule).values(due_at=due))
        db.session.commit()
    started = time.monotonic()
    run_job(teams[0], "change_sets.publish_due")
    world.work_off(within_s=WITHIN_S)
    needed_s = time.monotonic() - started
    with world.app.app_context():
        rows = sa.select(ChangeSet.state, sa.func.count()).where(ChangeSet.id.in_(ids)).group_by(ChangeSet.state)
        states = {str(state): count for state, count in db.session.execute(rows)}
    lines = [line for team in teams for line in team.repo.text("log", "--format=%B", "main").splitlines()]
    trailers = Counter(line.partition(": ")[2] for line in lines if line.startswith("Galley-Change-Set: "))
    with capsys.disabled():
        name = world.app.config["SETTINGS"].database.url.partition(":")[0]
        print(f"\n{name}: {DUE_SETS} sets in {len(teams)} projects, published in {needed_s:.1f} s; {states},", end=" ")
        print(f"{sum(trailers.values())} commits, {len(trailers)} trailers")
    assert states == {"published": DUE_SETS}
    assert trailers == dict.fromkeys(ids, 1)
