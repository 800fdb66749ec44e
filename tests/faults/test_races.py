"""Races of parallel writes on PostgreSQL, 200 rounds each: one winner, no lost update, no server error.

`RACE_ROUNDS` sets another number of rounds.
"""

import os
from collections import Counter

import pytest

from tests.support.races import RACES, WRITERS, race_of_paths, race_with_tag
from tests.support.world import World

ROUNDS = int(os.environ.get("RACE_ROUNDS", "200"))

pytestmark = pytest.mark.parametrize("store", ["postgresql"], indirect=True)


@pytest.mark.parametrize("name", RACES)
def test_if_match_rounds_have_one_winner_each(world: World, name: str) -> None:
    total: Counter[int] = Counter()
    for _ in range(ROUNDS):
        total += race_with_tag(world, name)
    assert total == {200: ROUNDS, 412: ROUNDS * (WRITERS - 2)}


def test_project_paths_rounds_lose_no_change(world: World) -> None:
    assert [missing for _ in range(ROUNDS) if (missing := race_of_paths(world))] == []
