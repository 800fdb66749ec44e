"""Tests of sites that use as many resources as possible. A sandbox cannot exceed its limits. Run them with `make faults`."""

import time
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from app.core.limits import MIB, SandboxLimits
from app.drivers.sandbox.local.host import LocalSandboxes
from app.drivers.sandbox.local.supervisor.usage import _parent
from app.drivers.sandbox.port import Phase, SandboxSpec
from app.runtimes.choose import static
from tests.drivers.sandbox.contract import SITE, fetch, python, serving, wait_for
from tests.drivers.sandbox.machine import is_alive, jails_of

FORK_BOMB = """
import os, time
made = 0
try:
    while made < 5000:
        if os.fork() == 0:
            time.sleep(600)
        made += 1
except OSError as error:
    print(made, error, flush=True)
time.sleep(600)
"""
MEMORY = """
import os, time
for _ in range(8):
    if os.fork() == 0:
        hold = [bytearray(os.urandom(1)) * (50 * 1024 * 1024) for _ in range(8)]
        time.sleep(600)
time.sleep(600)
"""
SHARED_MEMORY = """
import mmap, time
held = []
while True:
    piece = mmap.mmap(-1, 64 * 1024 * 1024)
    for at in range(0, len(piece), 4096):
        piece[at] = 1
    held.append(piece)
"""
DISK = """
import os, time
for number in range(1000):
    with open(f'/tmp/piece{number}', 'wb') as file:
        file.write(os.urandom(1024 * 1024))
time.sleep(600)
"""
PROCESSORS = """
import os
for _ in range(7):
    if os.fork() == 0:
        while True: pass
"""
DESCRIPTORS = """
import os
held = []
try:
    while True: held.append(os.open('/dev/null', os.O_RDONLY))
except OSError as error:
    print('stopped at', len(held), error, flush=True)
for number in held: os.close(number)
"""


@pytest.fixture
def host(tmp_path: Path) -> Iterator[LocalSandboxes]:
    host = LocalSandboxes(tmp_path / "sandboxes", limits=SandboxLimits(disk_bytes=100 * MIB))
    yield host
    for name in host.list_sandboxes():
        host.stop(name)


@pytest.fixture
def neighbour(host: LocalSandboxes) -> Iterator[str]:
    """Start a second sandbox, which must respond at the end."""
    name = uuid.uuid4().hex
    host.start(SandboxSpec(name, "o", static(), 300), SITE)
    wait_for(host, name, Phase.READY)
    yield name
    assert fetch(host, name) == (200, b"<h1>Front</h1>")


def start(host: LocalSandboxes, program: str) -> str:
    name = uuid.uuid4().hex
    host.start(SandboxSpec(name, "o", python(program), 300), SITE)
    return name


def cpu_s(pids: list[int]) -> float:
    """Return the processor seconds of processes and their descendants, including ended ones."""
    all_pids = [path.name for path in Path("/proc").iterdir() if path.name.isdigit()]
    expected, grew = set(pids), True
    while grew:
        more = {int(pid) for pid in all_pids if _parent(pid) in expected} - expected
        expected, grew = expected | more, bool(more)
    total = 0
    for pid in expected:
        try:
            words = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        total += int(words[11]) + int(words[12])
    return total / 100


class TestExhaustion:
    def test_fork_bomb_is_limited_to_the_processes_of_a_sandbox(self, host: LocalSandboxes, neighbour: str) -> None:
        name = start(host, FORK_BOMB)
        deadline = time.monotonic() + 30
        while "unavailable" not in (log := host.status(name).log) and time.monotonic() < deadline:
            time.sleep(0.1)
        made = next(int(line.split()[0]) for line in log.splitlines() if "unavailable" in line)
        assert 100 <= made <= 256
        processes = jails_of(host._root, name)
        started = time.monotonic()
        host.stop(name)
        assert time.monotonic() - started < 5
        assert not any(map(is_alive, processes[1:]))

    def test_memory_beyond_the_limit_ends_the_sandbox(self, host: LocalSandboxes, neighbour: str) -> None:
        view = wait_for(host, start(host, MEMORY), Phase.FAILED)
        assert view.problem == "The site used more memory than a sandbox has"

    def test_shared_memory_counts_against_the_memory_limit(self, host: LocalSandboxes, neighbour: str) -> None:
        view = wait_for(host, start(host, SHARED_MEMORY), Phase.FAILED)
        assert view.problem in (
            "The site used more memory than a sandbox has",
            "The server ended with status 1",
        )

    def test_disk_beyond_the_limit_ends_the_sandbox(self, host: LocalSandboxes, neighbour: str) -> None:
        view = wait_for(host, start(host, DISK), Phase.FAILED)
        assert view.problem == "The site used more disk than a sandbox has"

    def test_seven_busy_processes_share_one_processor(self, host: LocalSandboxes, neighbour: str) -> None:
        name = start(host, PROCESSORS + serving("b'busy'"))
        wait_for(host, name, Phase.READY)
        pids = jails_of(host._root, name)[1:2]
        before, started = cpu_s(pids), time.monotonic()
        time.sleep(3)
        used = (cpu_s(pids) - before) / (time.monotonic() - started)
        assert 0 < used < 1.15  # On a busy machine the processes get a small part of the processor.

    def test_open_files_are_limited(self, host: LocalSandboxes, neighbour: str) -> None:
        name = start(host, DESCRIPTORS + serving("b''"))
        view = wait_for(host, name, Phase.READY)
        assert "Too many open files" in view.log
