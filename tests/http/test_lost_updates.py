"""Tests of parallel writes to one object: `If-Match` admits one, and changes of different keys are all stored."""

import pytest

from tests.support.races import RACES, WRITERS, race_of_paths, race_with_tag
from tests.support.world import World


@pytest.mark.parametrize("name", RACES)
def test_if_match_parallel_writes_admit_exactly_one(world: World, name: str) -> None:
    assert race_with_tag(world, name) == {200: 1, 412: WRITERS - 2}


def test_project_paths_parallel_changes_are_all_stored(world: World) -> None:
    assert race_of_paths(world) == set()
