"""A few hostile builds. All of them run with `make faults`."""

import pytest

from tests.resources.sandbox.conftest import make_site
from tests.resources.site_build.hostile import PLAIN, Hostile
from tests.resources.site_build.test_builds import Builds
from tests.support.samples.hostile_builds import BUILDS, HostileBuild
from tests.support.world import World

pytestmark = [pytest.mark.slow, pytest.mark.sandbox, pytest.mark.one_database]


@pytest.mark.parametrize("tried", [pytest.param(build, id=build.name) for build in BUILDS if build.is_quick])
def test_hostile_build_reaches_nothing_outside_of_its_sandbox(
    world: World, stop_sandboxes: None, tried: HostileBuild
) -> None:
    Hostile(world, Builds(make_site(world, dict(PLAIN))), tried).run()
