"""Tests of the text of the Dockerfile."""

import json
import re

from app.settings.variables import Environment
from tests.serving.processes import ROOT

DOCKERFILE = re.sub(r"\\\n\s*", "", (ROOT / "Dockerfile").read_text())
IMAGE = DOCKERFILE.rpartition("\nFROM ")[2]
"""The last stage."""
PROCFILE = dict(line.split(": ", 1) for line in (ROOT / "Procfile").read_text().splitlines())
OF_THE_IMAGE = {"PATH", "PYTHONUNBUFFERED"}


def instructions(keyword: str, text: str = IMAGE) -> list[str]:
    """Return the texts of the instructions with a keyword."""
    return re.findall(rf"^{keyword} (.+)$", text, re.MULTILINE)


ENVIRONMENT = dict(pair.split("=", 1) for line in instructions("ENV") for pair in line.split())


class TestImage:
    def test_image_contains_no_build_stage(self) -> None:
        assert len(instructions("FROM", DOCKERFILE)) == 2
        assert "--from=build /venv /venv" in instructions("COPY")

    def test_image_installs_only_locked_binary_packages(self) -> None:
        installs = [step for step in instructions("RUN", DOCKERFILE) if "pip install" in step]
        assert all("--no-deps --require-hashes --only-binary :all: -r" in install for install in installs)
        assert ["-r requirements.txt -r requirements-previews.txt" in install for install in installs] == [True, False]

    def test_image_runs_unprivileged_and_writes_outside_the_code(self) -> None:
        assert instructions("USER") == ["galley"]
        assert re.findall(r"^(?:RUN|COPY) ", IMAGE.partition("\nUSER ")[2], re.MULTILINE) == []
        assert instructions("VOLUME") == [ENVIRONMENT["INSTANCE_DIR"]]

    def test_image_starts_the_command_of_the_procfile(self) -> None:
        [command] = instructions("CMD")
        assert " ".join(json.loads(command)) == PROCFILE["web"]
        assert instructions("STOPSIGNAL") == ["SIGTERM"]

    def test_health_check_uses_the_port_of_the_image(self) -> None:
        [check] = instructions("HEALTHCHECK")
        assert "/healthz" in check
        assert instructions("EXPOSE") == [ENVIRONMENT["PORT"]]

    def test_variables_of_the_image_are_settings(self) -> None:
        assert set(ENVIRONMENT) - OF_THE_IMAGE <= set(Environment().fields)

    def test_copied_files_exist_and_are_not_ignored(self) -> None:
        passed = {line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")}
        copies = [step.split()[:-1] for step in instructions("COPY", DOCKERFILE) if not step.startswith("--from")]
        names = {name for names in copies for name in names}
        assert names - {"app/console/assets"} == passed
        assert [name for name in names if not (ROOT / name).exists()] == []
