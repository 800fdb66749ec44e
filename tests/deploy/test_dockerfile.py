"""The image: what its file promises, and (GALLEY_LONG=1, as root with debootstrap) that its steps make a healthy service."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from dockerfile import Stage, read

from app.core.environment import Environment
from tests.servers.ports import free_port
from tests.serving.processes import ROOT

STAGES = read(ROOT / "Dockerfile")
PROCFILE = dict(line.split(": ", 1) for line in (ROOT / "Procfile").read_text().splitlines())
OF_THE_IMAGE = {"PATH", "PYTHONUNBUFFERED"}


@pytest.fixture
def image() -> Stage:
    return STAGES[-1]


class TestImage:
    def test_it_is_built_apart_from_what_builds_it(self, image: Stage) -> None:
        assert len(STAGES) == 2
        assert "--from=build /venv /venv" in [each.rest for each in image.instructions if each.word == "COPY"]

    def test_only_locked_packages_are_installed_and_nothing_is_compiled(self) -> None:
        [install] = [each.rest for stage in STAGES for each in stage.instructions if "pip install" in each.rest]
        assert "--require-hashes" in install
        assert "--only-binary :all:" in install
        assert "-r requirements.txt" in install

    def test_it_runs_as_nobody_special_and_what_it_writes_is_outside_of_its_code(self, image: Stage) -> None:
        assert image.last("USER").rest == "galley"
        assert image.instructions.index(image.last("USER")) > max(
            number for number, each in enumerate(image.instructions) if each.word in ("RUN", "COPY")
        )
        assert image.last("VOLUME").rest == image.environment()["INSTANCE_DIR"]

    def test_it_starts_what_the_procfile_starts(self, image: Stage) -> None:
        assert " ".join(image.last("CMD").words) == PROCFILE["web"]
        assert image.last("STOPSIGNAL").rest == "SIGTERM"

    def test_it_is_asked_for_its_health_on_its_own_port(self, image: Stage) -> None:
        assert "/healthz" in image.last("HEALTHCHECK").rest
        assert image.last("EXPOSE").rest == image.environment()["PORT"]

    def test_its_variables_are_the_service_s(self, image: Stage) -> None:
        assert set(image.environment()) - OF_THE_IMAGE <= set(Environment().fields)

    def test_everything_it_copies_is_there_and_passes_the_ignore_file(self, image: Stage) -> None:
        passed = {line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")}
        copied = [each.words[:-1] for stage in STAGES for each in stage.instructions if each.word == "COPY"]
        names = {name for words in copied for name in words if not words[0].startswith("--from")}
        assert names == passed
        assert [name for name in names if not (ROOT / name).exists()] == []


@pytest.mark.skipif(not os.environ.get("GALLEY_LONG"), reason="installs two Debian systems, takes minutes")
class TestSteps:
    def test_they_make_a_service_that_is_healthy_as_its_own_user(self, tmp_path: Path) -> None:
        if os.geteuid() != 0 or not all(map(shutil.which, ("debootstrap", "bwrap"))):
            pytest.skip("needs root, debootstrap and bubblewrap")
        command = [sys.executable, str(ROOT / "deploy" / "prove_dockerfile.py"), str(tmp_path), str(free_port())]
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
        assert done.stdout.endswith("healthy as galley\n")
