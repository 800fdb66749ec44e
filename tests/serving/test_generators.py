"""Preview of a site of each generator through the API: a first start, a start with cached dependencies, unsaved edits.

Generators that install packages need a registry and minutes; they run with GALLEY_LONG=1. The times are printed.
"""

import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser

from tests.drivers.sandbox.machine import jails_of
from tests.serving.member import Member, root_of
from tests.serving.processes import Service, running_prepared
from tests.serving.sites import QUICK, SITES
from tests.serving.unsaved_edits import LIVE_TIMEOUT_S, format_times, processor_s, seconds_until_visible

LONG = bool(os.environ.get("GALLEY_LONG"))
LOAD_TIMEOUT_MS = 120_000
SETTLE_MS = 2000
PROGRAMS = {
    "jekyll": "jekyll",
    **dict.fromkeys(("eleventy", "astro", "vite", "next", "vitepress", "docusaurus"), "npm"),
}


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    with running_prepared(tmp_path_factory.mktemp("generators")) as service:
        yield service


@pytest.fixture(scope="module")
def owner(service: Service) -> Member:
    return Member(service)


def parameter(generator: str) -> Any:
    """Return the parameter of a generator. A mark skips the test before its fixtures start the service."""
    program = PROGRAMS.get(generator, "sh")
    marks = (
        pytest.mark.skipif(generator not in QUICK and not LONG, reason="takes minutes and a package registry"),
        pytest.mark.skipif(shutil.which(program) is None, reason=f"{program} is not installed"),
    )
    return pytest.param(generator, marks=marks)


PARAMETERS = [parameter(generator) for generator in SITES]


def lay_out(folder: Path, files: dict[str, bytes]) -> None:
    """Write the site, with a lock file if packages are installed."""
    for path, content in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(content)
    if "package.json" in files:
        command = ["npm", "install", "--package-lock-only", "--ignore-scripts", "--no-audit", "--no-fund"]
        subprocess.run(command, cwd=folder, check=True, capture_output=True, timeout=300)


@pytest.mark.parametrize("generator", PARAMETERS)
def test_site_of_each_generator_is_served_at_first_and_later_starts(
    owner: Member, tmp_path: Path, generator: str
) -> None:
    files, expected, *_ = SITES[generator]
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


@pytest.mark.parametrize("generator", PARAMETERS)
def test_unsaved_edit_of_each_generator_is_visible(
    owner: Member, browser: Browser, tmp_path: Path, generator: str
) -> None:
    site = SITES[generator]
    lay_out(tmp_path, site.files)
    project = owner.connect(tmp_path, f"{generator}-edited")
    preview, times = owner.create(projectId=project), []
    page = browser.new_page()
    page.set_default_timeout(LOAD_TIMEOUT_MS)
    page.goto(preview["previewUrl"])
    page.get_by_text("Made by").first.wait_for()
    owner.follow(owner.create(projectId=project)["previewUrl"])
    page.wait_for_timeout(SETTLE_MS)
    live_timeout_s = LIVE_TIMEOUT_S if site.reloads or LONG else 0
    jail, used_s = jails_of(root_of(owner.service), preview["sandboxName"])[0], list[float]()
    for number in range(6 if LONG else 2):
        mark = f"Unsaved{number}"
        content = site.files[site.source].decode().replace("Made by", f"{mark} by")
        used_before_s, started = processor_s(jail), time.monotonic()
        owner.create(projectId=project, onlyIfActive=True, uncommittedFile={"path": site.source, "content": content})
        times.append(seconds_until_visible(owner, page, mark, started, live_timeout_s=live_timeout_s))
        used_s.append(processor_s(jail) - used_before_s)
    page.close()
    owner.stop(preview)
    print(f"\n{generator}: edit served/live {' '.join(map(format_times, times))} s; load {os.getloadavg()[0]:.0f}")
    print(f"processor time of the sandbox {' '.join(f'{each:.1f}' for each in used_s)} s")
    assert all(live if site.reloads else served for served, live in times), times
