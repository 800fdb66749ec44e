"""16 hostile pushes at once on two web workers, and the requests of another organization.

The output shows the memory of the processes, the durations of the other requests, and the end of each push.
"""

import itertools
import resource
import statistics
import threading
import time
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack, suppress
from pathlib import Path

import psutil
import pytest
import requests

from app.core.limits import PushLimits
from tests.faults.small_deployment import running_worker
from tests.git_http.client import Site
from tests.git_http.packs import NOTHING, Pack, push
from tests.support.servers.service import Service

MIB = 1 << 20
PUSHES, WORKERS = 16, 2
IDLE_S = 20
SLOTS_MIB = 4096
NAMES = [f"{number:03}" for number in range(1_000)]
FILE, FOLDER = "100644", "40000"
Updates = list[tuple[str, str, str]]
Bomb = tuple[Updates, Pack]


def one(pack: Pack, commit: str) -> Bomb:
    return [(NOTHING, commit, "refs/heads/new")], pack


def small(pack: Pack) -> str:
    return pack.tree({"a.md": (FILE, pack.blob(b"a"))})


def large_files() -> Bomb:
    pack = Pack()
    files = {f"{number}.md": (FILE, pack.blob(bytes(PushLimits.blob_bytes + number))) for number in range(1, 6)}
    return one(pack, pack.commit(pack.tree(files)))


def endless_file() -> Bomb:
    pack = Pack()
    pack.zeros(9 << 28)
    return one(pack, pack.commit(small(pack)))


def large_delta() -> Bomb:
    pack = Pack()
    pack.expanding_delta(128)
    return one(pack, pack.commit(small(pack)))


def many_deltas() -> Bomb:
    pack = Pack()
    for number in range(24):
        pack.expanding_delta(6, bytes([number]))
    return one(pack, pack.commit(small(pack)))


def repeated_tree(depth: int, width: int = 1_000) -> Bomb:
    pack = Pack()
    tree = pack.folder(NAMES[:width], pack.blob(b"a"), mode=FILE)
    for _ in range(depth - 1):
        tree = pack.folder(NAMES[:width], tree)
    return one(pack, pack.commit(tree))


def wide_folder() -> Bomb:
    pack = Pack()
    return one(pack, pack.commit(pack.folder((f"{n:0250}" for n in range(200_000)), pack.blob(b"a"), mode=FILE)))


def alternating_trees() -> Bomb:
    """Return many commits whose check reads a large folder for each."""
    pack = Pack()
    names = [f"{number:05}" for number in range(50_000)]
    trees = [pack.folder(names, pack.blob(content), mode=FILE) for content in (b"a", b"b")]
    mixed = pack.tree(dict.fromkeys(names, (FILE, pack.blob(b"a"))) | {"00000": (FILE, pack.blob(b"c"))})
    commit = pack.commit(trees[0])
    for number in range(200):
        commit = pack.commit((mixed, trees[0])[number % 2], commit)
    return one(pack, commit)


def long_message(is_tag: bool) -> Bomb:
    pack, text = Pack(), "a" * (40 * MIB)
    commit = pack.commit(small(pack), message="a" if is_tag else text)
    return ([(NOTHING, pack.tag(commit, message=text), "refs/tags/v1")], pack) if is_tag else one(pack, commit)


def many_refs(number: int) -> Bomb:
    pack = Pack()
    commit = pack.commit(small(pack))
    return [(NOTHING, commit, f"refs/heads/{'n' * 200}{one}") for one in range(number)], pack


WITHIN_LIMITS = "200 commits of 50,000 names"
BOMBS: dict[str, Callable[[], Bomb]] = {
    "5 files above 100 MiB": large_files,
    "a file of 2.25 GiB": endless_file,
    "a delta of 2 GiB": large_delta,
    "24 deltas of 96 MiB": many_deltas,
    "1,000 x 1,000 names": lambda: repeated_tree(2),
    "1,000 x 1,000 x 1,000 names": lambda: repeated_tree(3),
    "190 x 190 x 190 names": lambda: repeated_tree(3, 190),
    "a folder of 50 MiB": wide_folder,
    WITHIN_LIMITS: alternating_trees,
    "a commit message of 40 MiB": lambda: long_message(is_tag=False),
    "a tag message of 40 MiB": lambda: long_message(is_tag=True),
    "3,000 refs": lambda: many_refs(3_000),
    "300,000 refs": lambda: many_refs(300_000),
}


class MemoryWatch:
    """A thread that samples the memory of the service. The values are maxima in MiB."""

    def __init__(self, service: Service, worker: int) -> None:
        self._service, self._worker, self._stop = service, worker, threading.Event()
        self.maxima, self.unlimited = Counter[str](), set[str]()
        self._thread = threading.Thread(target=self._run)

    def _run(self) -> None:
        while not self._stop.wait(0.1):
            web = psutil.Process(self._service.process.pid).children()
            git = [child for worker in web for child in worker.children(recursive=True)]
            pages = {"git processes together": sum(map(self._memory, git)), "job worker": self._tree(self._worker)}
            pages |= {"git process": max(map(self._memory, git), default=0)}
            pages |= {"web worker": max(map(self._memory, web), default=0)}
            for name, value in pages.items():
                self.maxima[name] = max(self.maxima[name], value // MIB)
            for process in git:
                self._check_limit(process)

    def _tree(self, pid: int) -> int:
        process = psutil.Process(pid)
        return sum(map(self._memory, [process, *process.children(recursive=True)]))

    @staticmethod
    def _memory(process: psutil.Process) -> int:
        with suppress(psutil.Error):
            return int(process.memory_full_info().pss)
        return 0

    def _check_limit(self, process: psutil.Process) -> None:
        with suppress(psutil.Error):
            command = process.cmdline()
            is_push = any("receive-pack" in part or "index-pack" in part or "pre_receive" in part for part in command)
            if is_push and process.rlimit(resource.RLIMIT_DATA)[0] > PushLimits.process_bytes:
                self.unlimited.add(" ".join(command))

    def __enter__(self) -> "MemoryWatch":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()


class Neighbour:
    """A member of another organization, who reads the whole time."""

    def __init__(self, site: Site) -> None:
        self._client, self._site = site.service.client(site.owner), site
        self._content = f"{site.service.url}/api/v1/project-content/{site.project}"
        self.statuses = Counter[int]()
        while self._client.get(f"{self._content}/file?file=README.md").status_code != 200:
            time.sleep(0.2)

    def p95_s(self, is_over: Callable[[], bool]) -> float:
        """Send requests until a condition holds, and return the 95th percentile of their durations."""
        durations = list[float]()
        page = f"{self._site.service.url}/console/projects/{self._site.project}"
        while not is_over():
            for url in (self._content, f"{self._content}/file?file=README.md", page):
                start_s = time.monotonic()
                self.statuses[self._client.get(url, timeout=120).status_code] += 1
                durations.append(time.monotonic() - start_s)
            time.sleep(0.05)
        return statistics.quantiles(durations, n=20)[-1]


class Attack:
    """Pushes from all sites at once, each with a bomb. `ends` are the statuses and messages of the responses."""

    def __init__(self, sites: list[Site], bombs: dict[str, Bomb]) -> None:
        self.ends = dict[int, str]()
        named = itertools.islice(itertools.cycle(bombs.items()), len(sites))
        self._threads = [
            threading.Thread(target=self._push, args=(number, name, site, site.token(), bomb))
            for number, (site, (name, bomb)) in enumerate(zip(sites, named, strict=True))
        ]
        for thread in self._threads:
            thread.start()

    def is_over(self) -> bool:
        return not any(thread.is_alive() for thread in self._threads)

    def _push(self, number: int, name: str, site: Site, token: str, bomb: Bomb) -> None:
        start_s = time.monotonic()
        try:
            reply = push(site, token, *bomb)
            end = f"{reply.status} {reply.text.strip()[:110]!r}"
        except OSError as error:
            end = repr(error)
        self.ends[number] = f"{name}: {end} after {time.monotonic() - start_s:.0f} s"


@pytest.mark.one_database
def test_hostile_pushes_take_neither_memory_nor_time_of_others(
    store: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bombs = {name: make() for name, make in BOMBS.items()}
    with ExitStack() as stack:
        log = stack.enter_context((tmp_path / "log").open("wb"))
        service = stack.enter_context(Service(tmp_path / "service", workers=WORKERS, log=log, DATABASE_URL=store))
        worker = stack.enter_context(running_worker(service, log))
        neighbour = Neighbour(Site(service))
        sites = [Site(service) for _ in range(PUSHES)]
        refs = [site.refs() for site in sites]
        memory = stack.enter_context(MemoryWatch(service, worker.pid))
        idle_until_s = time.monotonic() + IDLE_S
        idle_s = neighbour.p95_s(lambda: time.monotonic() > idle_until_s)
        before = dict(memory.maxima)
        attack = Attack(sites, bombs)
        loaded_s = neighbour.p95_s(attack.is_over)
        for site in sites:
            site.wait_for_no_process()
        with capsys.disabled():
            print(f"\nsizes: { {name: f'{len(pack.data()) // 1024} KiB' for name, (_, pack) in bombs.items()} }")
            print(f"memory in MiB, idle {before}, loaded {dict(memory.maxima)}")
            print(f"p95 of others: idle {idle_s * 1000:.0f} ms, loaded {loaded_s * 1000:.0f} ms; {neighbour.statuses}")
            print(*attack.ends.values(), sep="\n")
        assert requests.get(f"{service.url}/healthz", timeout=10).ok
        moved = [number for number, site in enumerate(sites) if site.refs() != refs[number]]
        assert [attack.ends[number].partition(":")[0] for number in moved] == [WITHIN_LIMITS]
        assert not [folder for site in sites for folder in site.repo.folder.glob("objects/tmp_objdir-*")]
    assert set(neighbour.statuses) == {200}
    assert memory.unlimited == set()
    assert memory.maxima["git process"] <= PushLimits.process_bytes // MIB + 16
    assert memory.maxima["git processes together"] <= SLOTS_MIB
    assert memory.maxima["web worker"] <= before["web worker"] + 128
