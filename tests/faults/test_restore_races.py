"""Races of 50 restores and commits on PostgreSQL: each acknowledged one is in `git log` once.

`RACE_ROUNDS` sets another number of rounds.
"""

import os

import pytest

from tests.resources.project_content.conftest import FILES, make_site
from tests.support.restores import race_restores
from tests.support.world import World

ROUNDS = int(os.environ.get("RACE_ROUNDS", "10"))


@pytest.mark.parametrize("store", ["postgresql"], indirect=True)
def test_concurrent_restores_and_commits_are_each_in_the_log_once(world: World) -> None:
    for _ in range(ROUNDS):
        race_restores(make_site(world, FILES), writers=50)
