"""Two hundred saves and fifty pushes on ten thousand files of awkward names; at quiet points nothing may differ."""

import os
import random

from tests.resources.project_content.conftest import make_site
from tests.resources.project_content.simulation import NAMES, Simulation
from tests.samples.gitrepo import AWKWARD, Content
from tests.world import World

FILES, SAVES, PUSHES = 10_000, 200, 50


class TestSimulation:
    def test_at_quiet_points_the_index_is_the_branch(self, world: World) -> None:
        seed = int(os.environ.get("GALLEY_SEED", "7"))
        dice = random.Random(seed)
        files: dict[str, Content] = dict(AWKWARD)
        for n in range(FILES):
            files[f"big/{dice.choice(NAMES)}/{n // 100}/{dice.choice(NAMES)}-{n}.md"] = b"%d\n" % n
        life = Simulation(make_site(world, files), seed)
        steps = ["save"] * SAVES + ["push"] * PUSHES
        dice.shuffle(steps)
        for number, step in enumerate(steps, 1):
            getattr(life, step)()
            if number % 25 == 0:
                life.check()
        life.check()
        print(f"\nseed {seed}: {life.saved} saves, {life.refused} refused, {life.pushed} pushes, no difference")
        assert life.saved > SAVES / 4
