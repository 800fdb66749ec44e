"""Hostile sites and builds. None of them reaches another site, the service or the machine, and the next one is built.

`--store=sqlite` and `--store=postgresql` run them on one database. Run it with `make faults`.
"""

from datetime import timedelta

import pytest
from flask import Flask

from app.core import clock
from tests.drivers.sandbox.machine import leftovers
from tests.resources.sandbox.conftest import make_site
from tests.resources.sandbox.conftest import stop_sandboxes as stop_sandboxes
from tests.resources.site_build.conftest import build_process as build_process
from tests.resources.site_build.hostile import PLAIN, Hostile
from tests.resources.site_build.test_builds import Builds
from tests.support.samples.hostile_builds import BUILDS, HostileBuild
from tests.support.world import World


@pytest.mark.parametrize("tried", [pytest.param(build, id=build.name) for build in BUILDS])
def test_hostile_build_reaches_nothing_outside_of_its_sandbox(
    world: World, app: Flask, monkeypatch: pytest.MonkeyPatch, stop_sandboxes: None, tried: HostileBuild
) -> None:
    build = Hostile(world, Builds(make_site(world, dict(PLAIN))), tried).run()
    remaining = leftovers(app.config["SETTINGS"].server.instance_dir / "sandboxes")
    assert not any(remaining.values()), remaining
    tomorrow = clock.now() + timedelta(days=2)
    monkeypatch.setattr(clock, "now", lambda: tomorrow)
    verified = app.test_cli_runner().invoke(args=["storage", "verify"])
    assert "0 without a row, 0 missing" in verified.output, verified.output
    print(f"\n{tried.name}: {build['state']} {(build['failure'] or {}).get('code', '')} {build['seconds']} s")
