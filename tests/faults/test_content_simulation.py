"""Test of 200 saves and 50 pushes on 10,000 files with unusual names. The index must equal the branch when it is idle."""

import os
import random

from tests.resources.project_content.conftest import make_site
from tests.resources.project_content.simulation import NAMES, Simulation
from tests.support.samples.gitrepo import AWKWARD, Content
from tests.support.world import World

FILES, SAVES, PUSHES = 10_000, 200, 50


class TestSimulation:
    def test_index_without_pending_jobs_equals_the_branch(self, world: World) -> None:
        seed = int(os.environ.get("GALLEY_SEED", "7"))
        generator = random.Random(seed)
        files: dict[str, Content] = dict(AWKWARD)
        for n in range(FILES):
            files[f"big/{generator.choice(NAMES)}/{n // 100}/{generator.choice(NAMES)}-{n}.md"] = b"%d\n" % n
        workload = Simulation(make_site(world, files), seed)
        steps = ["save"] * SAVES + ["push"] * PUSHES
        generator.shuffle(steps)
        for number, step in enumerate(steps, 1):
            getattr(workload, step)()
            if number % 25 == 0:
                workload.check()
        workload.check()
        print(
            f"\nseed {seed}: {workload.saved} saves, {workload.refused} refused, {workload.pushed} pushes, no difference"
        )
        assert workload.saved > SAVES / 4
