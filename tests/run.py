"""Run the test suite in the kinds of processes that production has, several processes at a time.

On SQLite the web half runs in processes that gevent has patched, like the gunicorn workers. The worker half runs unpatched,
like `flask worker` and the commands. The drivers that both use run in both kinds, but the adapters of Git hosts only patched:
they have no input or output of their own. On PostgreSQL both halves run unpatched:
many route tests run waiting jobs in the test process, and the asyncio loop of that job engine cannot share a thread with
greenlets. `tests/serving` drives gunicorn on both databases. A test without a database, or with the marker `one_database`,
runs with SQLite only.

Usage: run.py [quick | coverage] [-j PROCESSES] [PYTEST-ARGUMENT ...]

`coverage` runs the same parts, measures the branches of those on SQLite, and prints the report at the end. It stores the
figure in `.coverage-figure`, which `make check` prints.
"""

import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from queue import SimpleQueue

ROOT = Path(__file__).resolve().parents[1]
TESTS = ROOT / "tests"
FIGURE = ROOT / ".coverage-figure"
PROCESSES = 6
CONTRACT_SHARES = 2
WAITING = 2
"""The number of processes that prefer the parts which mostly wait, with servers, sandboxes and commands."""
POSTGRESQL_PARTS = 3
"""The parts on PostgreSQL that run at the same time. Each can use 30 of its 100 connections."""
QUICK_SHARES = 6
WEB_SHARES = {"sqlite": 9, "postgresql": 6}
WORKER_SHARES = {"sqlite": 8, "postgresql": 2}
TIMEOUT_S = 2700
STACKS_S = 5
COUNT = re.compile(r"(\d+) (passed|failed|errors?|skipped|xfailed|xpassed)\b")
SUMMARY = re.compile(r"^=*\s*(\d+ \w+.*) in \d.*$", re.MULTILINE)
"""The last line of pytest. Warnings at the end of the interpreter can follow it."""
NO_TESTS_COLLECTED = 5

WEB = ("access", "console", "http", "preview_proxy", "resources")
CONTRACT = ("contract", "fuzz")
BOTH = ("concurrency", "database", "rate_limiting", "drivers/git", "drivers/http", "drivers/mail", "drivers/storage")
PATCHED = ("drivers/git/github", "drivers/git/gitlab")
QUICK = (
    "access", "content", "core", "database", "http", "observability", "rate_limiting", "resources", "runtimes", "security", "settings",
)  # fmt: skip
LARGE = TESTS / "resources/project_content/test_large_files.py"
"""The module with the largest bodies. It runs first in its share, while the process is small."""
LONG_RUNS = ("bench", "faults", "generated", "load")


@dataclass(frozen=True)
class Part:
    """A share of the suite that one process runs."""

    name: str
    paths: tuple[str, ...]
    is_patched: bool
    arguments: tuple[str, ...]
    is_waiting: bool = False
    is_measured: bool = False

    @property
    def uses_postgresql(self) -> bool:
        """Return whether the tests of the part run on PostgreSQL."""
        return "--store=postgresql" in self.arguments

    @property
    def command(self) -> list[str]:
        """The command line of pytest with the paths of this part."""
        measure = ["-m", "coverage", "run", "--parallel-mode"] if self.is_measured else []
        program = ["-m", "gevent.monkey", "--module", "pytest"] if self.is_patched else ["-m", "pytest"]
        return [sys.executable, *measure, *program, *self.arguments, *self.paths]

    def run(self, number: int, more: Sequence[str]) -> tuple[int, str]:
        """Run the part with the ports of a process number. Return its exit status and its output."""
        # Each process has a separate temporary folder, because pytest removes old folders at its end.
        folder = Path(tempfile.mkdtemp(prefix="galley-test-"))
        # Large buffers are returned to the system when they are freed.
        environment = os.environ | {"MALLOC_ARENA_MAX": "2", "MALLOC_MMAP_THRESHOLD_": "131072"}
        environment |= {"GALLEY_TEST_PROCESS": str(number), "PYTEST_DEBUG_TEMPROOT": str(folder)}
        # All parts, and the commands that tests start, share the compiled modules.
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        try:
            return run_command([*self.command, *more], environment)
        finally:
            # Some tests nest folders deeper than `shutil.rmtree` can follow.
            subprocess.run(["rm", "-rf", folder], check=False)


def run_command(
    command: Sequence[str], environment: Mapping[str, str], timeout_s: float = TIMEOUT_S
) -> tuple[int, str]:
    """Run a command and return its exit status and its output. End it and its processes when the time is over."""
    with tempfile.TemporaryFile() as output:
        process = subprocess.Popen(
            command,
            cwd=ROOT,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            status, reason = process.wait(timeout_s), ""
        except subprocess.TimeoutExpired:
            # pytest writes the stacks of the threads when it receives SIGABRT.
            for number in (signal.SIGABRT, signal.SIGKILL):
                with suppress(ProcessLookupError, subprocess.TimeoutExpired):
                    os.killpg(process.pid, number)
                    process.wait(STACKS_S)
            status, reason = process.wait(), f"\nended after {timeout_s:.0f} s\n"
        if status < 0 and not reason:
            reason = f"\nended by signal {-status}\n"
        output.seek(0)
        return status, output.read().decode(errors="replace") + reason


def parts(quick: bool, coverage: bool = False) -> Iterator[Part]:
    """Yield the parts of the suite. With `coverage`, the parts on SQLite are measured."""
    if quick:
        for number, files in enumerate(shares(QUICK, QUICK_SHARES), 1):
            yield Part(f"quick {number}", files, True, ("--quick", "--store=sqlite"))
        return
    # The databases take turns, so that few processes use the connections of PostgreSQL at a time.
    for pair in zip_longest(_parts_of("postgresql", False), _parts_of("sqlite", coverage)):
        yield from filter(None, pair)


def _parts_of(store: str, is_measured: bool) -> Iterator[Part]:
    is_patched, arguments = store == "sqlite", (f"--store={store}",)
    for number, files in enumerate(shares(CONTRACT, CONTRACT_SHARES), 1):
        yield Part(f"contract {store} {number}", files, is_patched, arguments, False, is_measured)
    excluded = PATCHED if is_patched else ()
    for number, files in enumerate(shares(_worker_names(), WORKER_SHARES[store], excluded), 1):
        yield Part(f"worker {store} {number}", files, False, arguments, True, is_measured)
    for number, files in enumerate(shares((*WEB, *BOTH) if is_patched else WEB, WEB_SHARES[store]), 1):
        yield Part(f"web {store} {number}", files, is_patched, arguments, False, is_measured)


def shares(names: Sequence[str], number: int, excluded: Sequence[str] = ()) -> list[tuple[str, ...]]:
    """Divide the test modules of folders, and modules, of `tests/` into so many shares of similar size.

    A process runs one share, because a process that has run some hundred tests is large and forks slowly.
    """
    left_out = {module for name in excluded for module in modules_of(TESTS / name)}
    modules = [module for name in names for module in modules_of(TESTS / name) if module not in left_out]
    modules.sort(key=lambda module: (-module.stat().st_size, module))
    parts = [sorted(modules[first::number], key=lambda module: module != LARGE) for first in range(number)]
    return [tuple(str(module.relative_to(ROOT)) for module in part) for part in parts]


def modules_of(path: Path) -> list[Path]:
    """Return the test modules of a folder, or the module itself."""
    return [path] if path.is_file() else [*path.rglob("test_*.py")]


def _worker_names() -> list[str]:
    """Return everything outside the web half, and the drivers that both halves use."""
    excluded = {*WEB, *CONTRACT, *LONG_RUNS, "__pycache__"}
    folders = [p.name for p in TESTS.iterdir() if p.is_dir() and p.name not in excluded]
    return sorted([*folders, *(p.name for p in TESTS.glob("test_*.py"))])


class PartQueue:
    """The parts that have not begun, for several threads. It limits the parts that use PostgreSQL at the same time."""

    def __init__(self, parts: Iterable[Part]) -> None:
        self._parts, self._running, self._changed = list(parts), 0, threading.Condition()

    def take(self, prefers_waiting: bool) -> Part | None:
        """Return the next part, preferably of this kind. Wait until one may run. Return None if none is left."""
        with self._changed:
            while self._parts:
                allowed = [part for part in self._parts if not part.uses_postgresql or self._running < POSTGRESQL_PARTS]
                if allowed:
                    part = min(allowed, key=lambda part: part.is_waiting is not prefers_waiting)
                    self._parts.remove(part)
                    self._running += part.uses_postgresql
                    return part
                self._changed.wait()
            return None

    def finish(self, part: Part) -> None:
        """Record the end of a part."""
        with self._changed:
            self._running -= part.uses_postgresql
            self._changed.notify_all()


def results(output: str) -> Counter[str]:
    """Return the numbers of passed, failed and skipped tests in the output of pytest."""
    counts: Counter[str] = Counter()
    for summary in SUMMARY.findall(output)[-1:]:
        for count, word in COUNT.findall(summary):
            counts["failed" if word.startswith("error") else word] += int(count)
    return counts


def main(arguments: list[str]) -> int:
    """Run all parts, print the output of each as it ends, and print the sums."""
    quick, coverage = arguments[:1] == ["quick"], arguments[:1] == ["coverage"]
    more = arguments[1:] if quick or coverage else arguments
    processes = PROCESSES
    if more[:1] == ["-j"]:
        processes, more = int(more[1]), more[2:]
    counts: Counter[str] = Counter()
    failed: list[str] = []
    lock = threading.Lock()

    # Parts that run at the same time have different numbers, and so different ports.
    numbers: SimpleQueue[int] = SimpleQueue()
    for number in range(1, processes + 1):
        numbers.put(number)

    def run(part: Part) -> None:
        number = numbers.get()
        try:
            status, output = part.run(number, more)
        finally:
            numbers.put(number)
        with lock:
            print(f"== {part.name}\n{output.strip()}", flush=True)
            counts.update(results(output))
            if status not in (0, NO_TESTS_COLLECTED):
                failed.append(part.name)

    queue = PartQueue(parts(quick, coverage))

    def run_all(prefers_waiting: bool) -> None:
        while (part := queue.take(prefers_waiting)) is not None:
            try:
                run(part)
            finally:
                queue.finish(part)

    with ThreadPoolExecutor(processes) as pool:
        list(pool.map(run_all, [number < WAITING for number in range(processes)]))
    if failed:
        print(f"Failed: {', '.join(failed)}")
    print(f"{counts['passed']} passed, {counts['failed']} failed, {counts['skipped']} skipped")
    covered = not coverage or report_coverage()
    return 0 if covered and not failed and not counts["failed"] else 1


def report_coverage() -> bool:
    """Combine the measurements, print the report, store its figure, and return whether all commands succeeded."""
    coverage = [sys.executable, "-m", "coverage"]
    subprocess.run([*coverage, "combine", "--quiet"], cwd=ROOT, check=True)
    report = subprocess.run([*coverage, "report", "--skip-covered"], cwd=ROOT, check=False)
    total = subprocess.run(
        [*coverage, "report", "--format=total"], cwd=ROOT, check=False, capture_output=True, text=True
    )
    commit = subprocess.run(
        ["git", "log", "-1", "--format=%h of %cs"], cwd=ROOT, check=True, capture_output=True, text=True
    )
    FIGURE.write_text(f"Coverage of statements and branches at {commit.stdout.strip()}: {total.stdout.strip()} %\n")
    return report.returncode == total.returncode == 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
