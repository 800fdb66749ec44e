"""Fixtures of the project tests."""

import pytest

from tests.support.workspace import Workspace, make_workspace
from tests.support.world import World


@pytest.fixture
def workspace(world: World) -> Workspace:
    return make_workspace(world)
