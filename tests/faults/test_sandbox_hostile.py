"""Tests of ordinary previews among hostile ones. The ordinary ones are served, and nothing of any sandbox remains.

With `GALLEY_LONG=1` there are 100 starts and stops with ten hostile sandboxes, else ten with five. `GALLEY_CYCLES` sets
another number of starts.
"""

import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from app.core.limits import MIB, SandboxLimits
from app.drivers.sandbox.local.confinement import supports_images
from app.drivers.sandbox.local.host import LocalSandboxes
from app.drivers.sandbox.local.supervisor.bubblewrap import outer_user
from app.drivers.sandbox.port import SYMLINK, Phase, SandboxSpec, SiteFile
from app.runtimes.choose import static
from tests.drivers.sandbox.contract import SITE, fetch, python, wait_for
from tests.drivers.sandbox.machine import leftovers, processes_of

CYCLES = int(os.environ.get("GALLEY_CYCLES") or (100 if os.environ.get("GALLEY_LONG") else 10))
HOSTILE_COUNT = 5 if CYCLES <= 10 else 10
OVERLAP = 2
"""Cycles for which a hostile sandbox runs beside the others."""

READY_TIMEOUT_S = 120
REMOVED_TIMEOUT_S = 60
SLEEP = "\nimport time; time.sleep(600)\n"
HOSTILE = {
    "fork bomb": """
import os, time
for _ in range(5000):
    try:
        if os.fork() == 0:
            os.setsid()
            time.sleep(600)
    except OSError:
        break
""",
    "deleted files": """
import os
streams = []
for number in range(1000):
    stream = open(f'f{number}', 'wb', buffering=0)
    os.unlink(f'f{number}')
    streams.append(stream)
    try:
        stream.write(b'x' * (1 << 20))
    except OSError:
        break
""",
    "many files": """
for number in range(100_000):
    try:
        open(f'n{number}', 'w').close()
    except OSError:
        break
""",
    "deep folders": """
import os
folder = os.open('.', os.O_RDONLY)
try:
    for _ in range(3000):
        os.mkdir('d', dir_fd=folder)
        child = os.open('d', os.O_RDONLY, dir_fd=folder)
        os.fchmod(folder, 0)
        os.close(folder)
        folder = child
except OSError:
    pass
""",
    "links": """
import os
for target in ('/', '/etc', '/proc/1/root', '/proc/self/fd', '../../..', '/run/egress.sock'):
    for name in ('work', 'tmp', 'deps', 'cache', 'node_modules', 'state.json', 'spec.json', 'control.sock'):
        try:
            path = f"{name}-{target.replace('/', '_')}"
            os.symlink(target, path)
            os.rename(path, name)
        except OSError:
            pass
os.rename('/work/index.html', '/work/moved')
os.symlink('/etc/shadow', '/work/index.html')
os.mkfifo('/work/fifo')
os.chmod('/work', 0)
""",
}


@pytest.fixture
def host(tmp_path: Path) -> Iterator[LocalSandboxes]:
    limits = SandboxLimits(disk_bytes=64 * MIB, files=5000)
    host = LocalSandboxes(tmp_path / "sandboxes", limits=limits)
    yield host
    for name in host.list_sandboxes():
        host.stop(name)


def remains(root: Path, names: list[str]) -> dict[str, object]:
    """Return the processes, mounts, sockets, folders and loop devices of sandboxes. Empty if there are none."""
    users = [user for user in map(outer_user, names) if user is not None]
    result: dict[str, object] = {**leftovers(root), "guests": [pid for user in users for pid in processes_of(user)]}
    files = Path("/sys/block").glob("loop*/loop/backing_file")
    result["loop devices"] = [path.parent.parent.name for path in files if str(root) in path.read_text()]
    return {kind: what for kind, what in result.items() if what}


def run_ordinary(host: LocalSandboxes, name: str) -> None:
    host.start(SandboxSpec(name, "org_1", static(), 300), SITE)
    wait_for(host, name, Phase.READY, within_s=READY_TIMEOUT_S)
    assert fetch(host, name) == (200, b"<h1>Front</h1>")
    host.stop(name)


def test_hostile_sandboxes_do_not_affect_others_and_leave_no_remains(host: LocalSandboxes, tmp_path: Path) -> None:
    if not supports_images(tmp_path):
        print("\nThis machine does not permit disk images: usage is counted")
    kinds = list(HOSTILE)
    files = [*SITE, SiteFile("out", SYMLINK, b"/"), SiteFile("up", SYMLINK, b"../../..")]
    host.start(SandboxSpec("neighbour", "org_1", static(), 3600), SITE)
    wait_for(host, "neighbour", Phase.READY, within_s=READY_TIMEOUT_S)
    names, hostile, started = ["neighbour"], list[tuple[int, str]](), time.monotonic()
    for number in range(CYCLES):
        if number * HOSTILE_COUNT // CYCLES != (number - 1) * HOSTILE_COUNT // CYCLES:
            name = f"hostile-{number}"
            program = HOSTILE[kinds[len(hostile) % len(kinds)]] + SLEEP
            host.start(SandboxSpec(name, "org_2", python(program), 300), files)
            hostile.append((number, name))
        run_ordinary(host, f"ordinary-{number}")
        assert fetch(host, "neighbour") == (200, b"<h1>Front</h1>")
        names += [f"ordinary-{number}", *(name for start, name in hostile if start == number)]
        for name in [name for start, name in hostile if start == number - OVERLAP]:
            host.stop(name)
    for name in host.list_sandboxes():
        host.stop(name)
    deadline = time.monotonic() + REMOVED_TIMEOUT_S
    while left := remains(tmp_path / "sandboxes", names):
        assert time.monotonic() < deadline, left
        time.sleep(0.1)
    assert len(hostile) == HOSTILE_COUNT
    print(f"\n{CYCLES} starts with {HOSTILE_COUNT} hostile sandboxes: nothing left, {time.monotonic() - started:.0f} s")
