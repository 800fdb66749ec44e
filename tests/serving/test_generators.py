"""Preview of a site of each generator through the API: a first start, and a start with cached dependencies.

Generators that install packages need a registry and minutes; they run with GALLEY_LONG=1. The times are printed.
"""

import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.serving.member import Member
from tests.serving.processes import Service, running
from tests.serving.sites import QUICK, SITES

LONG = bool(os.environ.get("GALLEY_LONG"))
PROGRAMS = {"jekyll": "jekyll", **dict.fromkeys(("eleventy", "astro", "vite", "next"), "npm")}


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    with running(tmp_path_factory.mktemp("generators")) as service:
        yield service


@pytest.fixture(scope="module")
def owner(service: Service) -> Member:
    return Member(service)


def lay_out(folder: Path, files: dict[str, bytes]) -> None:
    """Write the site, with a lock file if packages are installed."""
    for path, content in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(content)
    if "package.json" in files:
        command = ["npm", "install", "--package-lock-only", "--ignore-scripts", "--no-audit", "--no-fund"]
        subprocess.run(command, cwd=folder, check=True, capture_output=True, timeout=300)


@pytest.mark.parametrize("generator", SITES)
def test_site_of_each_generator_is_served_at_first_and_later_starts(
    owner: Member, tmp_path: Path, generator: str
) -> None:
    if generator not in QUICK and not LONG:
        pytest.skip("takes minutes and a package registry")
    program = PROGRAMS.get(generator, "sh")
    if shutil.which(program) is None:
        pytest.skip(f"{program} is not installed")
    files, expected = SITES[generator]
    lay_out(tmp_path, files)
    project = owner.connect(tmp_path, generator)
    took_s = []
    for _ in range(4 if LONG else 2):
        started = time.monotonic()
        preview = owner.create(projectId=project)
        page = owner.follow(preview["previewUrl"])
        took_s.append(time.monotonic() - started)
        owner.stop(preview)
        assert (page.status, expected in page.text) == (200, True), page.text
    warm = ", ".join(f"{each:.1f}" for each in took_s[1:])
    print(f"\n{generator}: first start to page {took_s[0]:.1f} s, later ones {warm} s")
