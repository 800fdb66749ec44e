"""Tests of the Dockerfile. With GALLEY_LONG=1, as root with debootstrap, its steps build and run a service."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from dockerfile import Stage, read

from app.settings.variables import Environment
from tests.serving.processes import ROOT
from tests.support.servers.ports import free_port

STAGES = read(ROOT / "Dockerfile")
PROCFILE = dict(line.split(": ", 1) for line in (ROOT / "Procfile").read_text().splitlines())
OF_THE_IMAGE = {"PATH", "PYTHONUNBUFFERED"}


@pytest.fixture
def image() -> Stage:
    return STAGES[-1]


class TestImage:
    def test_image_contains_no_build_stage(self, image: Stage) -> None:
        assert len(STAGES) == 2
        assert "--from=build /venv /venv" in [each.text for each in image.instructions if each.keyword == "COPY"]

    def test_image_installs_only_locked_binary_packages(self) -> None:
        installs = [each.text for stage in STAGES for each in stage.instructions if "pip install" in each.text]
        assert all("--no-deps --require-hashes --only-binary :all: -r" in install for install in installs)
        assert ["-r requirements.txt" in install for install in installs] == [True, False]

    def test_image_runs_unprivileged_and_writes_outside_the_code(self, image: Stage) -> None:
        assert image.last("USER").text == "galley"
        assert image.instructions.index(image.last("USER")) > max(
            number for number, each in enumerate(image.instructions) if each.keyword in ("RUN", "COPY")
        )
        assert image.last("VOLUME").text == image.environment()["INSTANCE_DIR"]

    def test_image_starts_the_command_of_the_procfile(self, image: Stage) -> None:
        assert " ".join(image.last("CMD").arguments) == PROCFILE["web"]
        assert image.last("STOPSIGNAL").text == "SIGTERM"

    def test_health_check_uses_the_port_of_the_image(self, image: Stage) -> None:
        assert "/healthz" in image.last("HEALTHCHECK").text
        assert image.last("EXPOSE").text == image.environment()["PORT"]

    def test_variables_of_the_image_are_settings(self, image: Stage) -> None:
        assert set(image.environment()) - OF_THE_IMAGE <= set(Environment().fields)

    def test_copied_files_exist_and_are_not_ignored(self, image: Stage) -> None:
        passed = {line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")}
        copied = [each.arguments[:-1] for stage in STAGES for each in stage.instructions if each.keyword == "COPY"]
        names = {name for words in copied for name in words if not words[0].startswith("--from")}
        assert names - {"app/console/assets"} == passed
        assert [name for name in names if not (ROOT / name).exists()] == []


@pytest.mark.skipif(not os.environ.get("GALLEY_LONG"), reason="installs two Debian systems, takes minutes")
class TestSteps:
    def test_steps_build_a_healthy_unprivileged_service(self, tmp_path: Path) -> None:
        if os.geteuid() != 0 or not all(map(shutil.which, ("debootstrap", "bwrap"))):
            pytest.skip("needs root, debootstrap and bubblewrap")
        command = [sys.executable, str(ROOT / "deploy" / "prove_dockerfile.py"), str(tmp_path), str(free_port())]
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
        assert done.stdout.endswith("healthy as galley\n")
