"""The units for one host, and what the guide says of them."""

import shutil
import subprocess
from pathlib import Path

import pytest

from app.core.database import POOL_MOST, Aside
from config import Settings
from tests.deploy.test_dockerfile import PROCFILE
from tests.serving.processes import ROOT

UNITS = {name: ROOT / "deploy" / "systemd" / f"galley-{name}@.service" for name in ("web", "worker")}
GUIDE = (ROOT / "docs" / "deployment.md").read_text()
BIN = "/srv/galley/current/.venv/bin/"


def told(file: Path) -> dict[str, str]:
    lines = [line for line in file.read_text().splitlines() if "=" in line and not line.startswith("#")]
    return dict(line.split("=", 1) for line in lines)


class TestUnits:
    @pytest.mark.parametrize("name", UNITS)
    def test_each_starts_what_the_procfile_starts_and_lets_it_drain(self, name: str) -> None:
        unit = told(UNITS[name])
        assert unit["ExecStart"] == BIN + PROCFILE[name]
        assert int(unit["TimeoutStopSec"]) > 30
        assert (unit["KillMode"], unit["Restart"], unit["User"]) == ("mixed", "always", "galley")

    @pytest.mark.parametrize("name", UNITS)
    def test_systemd_understands_each(self, name: str, tmp_path: Path) -> None:
        if shutil.which("systemd-analyze") is None:
            pytest.skip("systemd is not installed")
        unit = tmp_path / UNITS[name].name.replace("@", "@8101")
        # The programs are not where the guide puts them.
        unit.write_text(UNITS[name].read_text().replace(BIN + PROCFILE[name], "/bin/true"))
        done = subprocess.run(["systemd-analyze", "verify", str(unit)], capture_output=True, text=True)
        assert unit.name not in done.stderr, done.stderr


class TestGuide:
    def test_its_environment_makes_settings(self, tmp_path: Path) -> None:
        text = GUIDE.split("`/etc/galley/environment`:\n\n```\n")[1].split("```")[0]
        given = dict(line.split("=", 1) for line in text.splitlines())
        assert given["INSTANCE_DIR"] == told(UNITS["web"])["ReadWritePaths"]
        key = "k1:MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY="
        made = {"SECRET_KEY": "wn1Zc7bq0Pj4Yx8Ls5Vt2Kd6Rf9Gh3Mm", "ENCRYPTION_KEYS": key, "INSTANCE_DIR": str(tmp_path)}
        settings = Settings.from_environment(given | made)
        assert settings.is_production
        assert "host=" in settings.database.url

    def test_the_connections_it_counts_are_the_pools_sizes(self) -> None:
        aside = Aside.__init__.__kwdefaults__["at_once"]
        assert f"| web process | 2 × `DATABASE_POOL` ({POOL_MOST}; for writing, for reading) + {aside} |" in GUIDE
        each, small = 2 * POOL_MOST + aside, 2 * 10 + aside
        assert f"4 × {each} + 2 × 17 = {4 * each + 2 * 17}" in GUIDE
        assert f"16 × {small} + 4 × 17 = {16 * small + 4 * 17}" in GUIDE
