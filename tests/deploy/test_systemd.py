"""Tests of the systemd units and of their guide."""

import subprocess
from pathlib import Path

import pytest

from app.database.engines import MAX_SIDE_CONNECTIONS, POOL_MAX
from config import Settings
from tests.deploy.test_dockerfile import PROCFILE
from tests.serving.processes import ROOT
from tests.support.programs import required_program

UNITS = {name: ROOT / "deploy" / "systemd" / f"galley-{name}@.service" for name in ("web", "worker")}
GUIDE = (ROOT / "docs" / "deployment.md").read_text()
BIN = "/srv/galley/current/.venv/bin/"


def options_of(file: Path) -> dict[str, str]:
    lines = [line for line in file.read_text().splitlines() if "=" in line and not line.startswith("#")]
    return dict(line.split("=", 1) for line in lines)


class TestUnits:
    @pytest.mark.parametrize("name", UNITS)
    def test_units_start_the_commands_of_the_procfile_and_wait_for_the_drain(self, name: str) -> None:
        unit = options_of(UNITS[name])
        assert unit["ExecStart"] == BIN + PROCFILE[name]
        assert int(unit["TimeoutStopSec"]) > 30
        assert (unit["KillMode"], unit["Restart"], unit["User"]) == ("mixed", "always", "galley")

    @pytest.mark.parametrize("name", UNITS)
    def test_units_are_valid(self, name: str, tmp_path: Path) -> None:
        program = required_program("systemd-analyze", package="systemd")
        unit = tmp_path / UNITS[name].name.replace("@", "@8101")
        # The programs are not where the guide puts them.
        unit.write_text(UNITS[name].read_text().replace(BIN + PROCFILE[name], "/bin/true"))
        done = subprocess.run([program, "verify", str(unit)], capture_output=True, text=True)
        # systemd before 254 ignores this option and reports it.
        faults = [line for line in done.stderr.splitlines() if unit.name in line and "DelegateSubgroup" not in line]
        assert faults == []

    @pytest.mark.parametrize("name", UNITS)
    def test_units_delegate_the_parent_of_their_group(self, name: str) -> None:
        unit = options_of(UNITS[name])
        assert unit["Delegate"] == "yes"
        assert unit["DelegateSubgroup"]


class TestGuide:
    def test_guide_builds_the_assets_of_the_console(self) -> None:
        assert ".venv/bin/python deploy/console_assets.py --required" in GUIDE

    def test_environment_of_the_guide_is_valid(self, tmp_path: Path) -> None:
        text = GUIDE.split("`/etc/galley/environment`:\n\n```\n")[1].split("```")[0]
        given = dict(line.split("=", 1) for line in text.splitlines())
        assert given["INSTANCE_DIR"] == options_of(UNITS["web"])["ReadWritePaths"]
        key = "k1:MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY="
        made = {"SECRET_KEY": "wn1Zc7bq0Pj4Yx8Ls5Vt2Kd6Rf9Gh3Mm", "ENCRYPTION_KEYS": key, "INSTANCE_DIR": str(tmp_path)}
        settings = Settings.from_environment(given | made)
        assert settings.is_production
        assert "host=" in settings.database.url

    def test_connections_of_the_guide_equal_the_pool_sizes(self) -> None:
        side = MAX_SIDE_CONNECTIONS
        assert f"| web process | 2 × `DATABASE_POOL` ({POOL_MAX}; for writing, for reading) + {side} |" in GUIDE
        each = 2 * POOL_MAX + side
        assert f"2 × {each} + 2 × 22 = {2 * each + 2 * 22}" in GUIDE
        assert 2 * each + 2 * 22 < 97  # PostgreSQL reserves 3 of 100 for superusers.
        assert f"16 × {each} + 4 × 22 = {16 * each + 4 * 22}" in GUIDE
