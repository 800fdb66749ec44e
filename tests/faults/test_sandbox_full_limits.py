"""Tests of the disk and file limits in their full size. They need `GALLEY_LONG=1`. The times are printed."""

import os
import re
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from app.drivers.sandbox.local.confinement import supports_images
from app.drivers.sandbox.local.host import LocalSandboxes
from app.drivers.sandbox.port import Phase, SandboxSpec
from tests.drivers.sandbox.contract import SITE, python

ENDS_WITHIN_S = 300
CROSSED = re.compile(r"crossed ([\d.]+)")
# The monotonic clock of the jail is the one of this process.
DISK = """
import time
total, piece = 0, b'x' * (1 << 20)
try:
    for number in range(30):
        with open(f'/tmp/piece{number}', 'wb', buffering=0) as file:
            for _ in range(100):
                total += file.write(piece)
                if total == 2048 << 20:
                    print('crossed', time.monotonic(), flush=True)
except OSError:
    print('crossed', time.monotonic(), flush=True)
time.sleep(600)
"""
FILES = """
import os, time
try:
    for number in range(500_000):
        if number % 10_000 == 0:
            os.mkdir(f'/work/{number}')
            os.chdir(f'/work/{number}')
        os.close(os.open(str(number), os.O_CREAT | os.O_WRONLY))
        if number == 400_000:
            print('crossed', time.monotonic(), flush=True)
except OSError:
    print('crossed', time.monotonic(), flush=True)
time.sleep(600)
"""

pytestmark = pytest.mark.skipif(not os.environ.get("GALLEY_LONG"), reason="writes 2 GiB and 400,000 files")


@pytest.fixture(params=[True, False], ids=["image", "counted"])
def host(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[LocalSandboxes]:
    if request.param and not supports_images(tmp_path):
        pytest.skip("this machine does not permit mounting disk images")
    host = LocalSandboxes(tmp_path / "sandboxes", images=request.param)
    yield host
    for name in host.list_sandboxes():
        host.stop(name)


@pytest.mark.parametrize(("cause", "program"), [("disk", DISK), ("files", FILES)], ids=["disk", "files"])
def test_sandbox_beyond_its_full_limit_fails_with_its_cause(host: LocalSandboxes, cause: str, program: str) -> None:
    host.start(SandboxSpec("full", "org_1", python(program), ENDS_WITHIN_S), SITE)
    deadline = time.monotonic() + ENDS_WITHIN_S
    while (status := host.status("full")).phase is not Phase.FAILED:
        assert status.phase is not Phase.ENDED
        assert time.monotonic() < deadline
        time.sleep(0.02)
    ended = time.monotonic()
    assert status.cause == cause
    crossed = CROSSED.search(status.log)
    host.stop("full")
    after = f"{ended - float(crossed[1]):.1f} s after it" if crossed else "before the program reached it"
    print(f"\n{cause}: ended {after}; removed in {time.monotonic() - ended:.1f} s")
