"""Tests of parallel steps of a change set: random ones, and one step before each statement of another one.

`tests/faults/test_change_set_races.py` contains the long form.
"""

import os
import random
from collections import Counter
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from tests.resources.change_set.conftest import TEXT, Team
from tests.resources.change_set.races import (
    ParallelCall,
    approve,
    close,
    create,
    differences,
    is_valid,
    publish,
    publish_at_its_time,
    race,
    schedule,
    unschedule,
)
from tests.support.interleaving import before_statement
from tests.support.world import Answer

pytestmark = pytest.mark.slow

ROUNDS = 20
STRIDE = 1 if os.environ.get("GALLEY_LONG") else 6
"""The distance of the tested statements."""

MAX_STATEMENTS = 200

OTHERS: dict[str, Callable[[Team, dict[str, Any], str], Answer]] = {
    "commit": create,
    "unschedule": lambda team, change_set, _: unschedule(team, change_set),
    "publish": lambda team, change_set, _: publish(team, change_set),
}


class TestRandomSteps:
    def test_parallel_steps_leave_a_set_that_agrees_with_git(self, team: Team) -> None:
        generator, outcomes, errors = random.Random(9), Counter[str](), list[str]()
        for _ in range(ROUNDS):
            counted, wrong = race(team, generator)
            outcomes += counted
            errors += wrong
        assert errors == []
        assert outcomes["published"] > 0
        assert outcomes["in_review"] + outcomes["approved"] > 0


class TestStepBetweenStatements:
    @pytest.mark.parametrize("step", [publish, publish_at_its_time, schedule, approve, close])
    @pytest.mark.parametrize("other", ["commit", "unschedule", "publish"])
    def test_other_step_before_a_statement_loses_nothing(self, team: Team, step, other: str) -> None:
        position, errors = 1, list[str]()
        while position < MAX_STATEMENTS:
            made = team.approved(text=TEXT.replace("First", f"Words {position} of"))
            if step in (publish_at_its_time, publish) or other == "unschedule":
                team.schedule(made)
            path = f"content/{made['id']}.md"
            parallel = ParallelCall(partial(OTHERS[other], team, made, path))
            with before_statement(team.world.app, position, parallel) as hook:
                answer = step(team, made)
            if not hook.has_run:
                break
            second = parallel.answer()
            wrong = [f"{one.status} {one.json}" for one in (answer, second) if one is not None and not is_valid(one)]
            is_stored = other == "commit" and second is not None and second.status == 201
            wrong += differences(team, made, [path] if is_stored else [])
            if other == "unschedule" and step is publish_at_its_time and second is not None and second.status == 200:
                wrong += ["published without a schedule"] * (team.read(made)["state"] == "published")
            errors += [f"before statement {position}: {error}" for error in wrong]
            position += STRIDE
        assert errors == []
        assert 1 < position < MAX_STATEMENTS
