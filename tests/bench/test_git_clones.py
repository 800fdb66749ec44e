"""Clones and pushes of Git clients: the answers of other requests next to them, memory, and the time of `git daemon`.

`GALLEY_CLONE_MB` sets another size of the large repository.
"""

import contextlib
import os
import statistics
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import requests

from tests.git_http.client import GitClient, Site
from tests.support.samples.gitrepo import GitRepo
from tests.support.servers.git_daemon import git_daemon
from tests.support.servers.service import Service

SIZE_MB = int(os.environ.get("GALLEY_CLONE_MB", "300"))
CLONES, FILES, ROUNDS = 20, 50_000, 5
BLOB_BYTES = 5 << 20
GOAL_MS, CLIENT_S = 500, 900


@contextlib.contextmanager
def observed(service: Service) -> Iterator[tuple[list[float], list[int]]]:
    """Measure the answers of `/healthz` in ms, and the memory of the server in KiB, during the block."""
    answers_ms: list[float] = []
    memory_kib: list[int] = []
    stop = threading.Event()

    def watch() -> None:
        while not stop.wait(0.02):
            started_s = time.perf_counter()
            assert requests.get(f"{service.url}/healthz", timeout=60).ok
            answers_ms.append((time.perf_counter() - started_s) * 1_000)
            memory_kib.append(service.memory_kib())

    thread = threading.Thread(target=watch)
    thread.start()
    try:
        yield answers_ms, memory_kib
    finally:
        stop.set()
        thread.join()


def seconds(call: Callable[[], object]) -> float:
    started_s = time.perf_counter()
    call()
    return time.perf_counter() - started_s


def summary(answers_ms: list[float], memory_kib: list[int]) -> str:
    ordered = sorted(answers_ms)
    return (
        f"/healthz {len(ordered)} answers, median {statistics.median(ordered):.0f} ms, "
        f"99 % {ordered[int(len(ordered) * 0.99) - 1]:.0f} ms, worst {ordered[-1]:.0f} ms (goal < {GOAL_MS}); "
        f"memory {memory_kib[0] // 1024} MiB before, {max(memory_kib) // 1024} MiB at most"
    )


class TestClones:
    def test_answers_and_memory_next_to_clones_of_a_large_repository(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        with Service(tmp_path / "service", workers=1, GIT_HTTP_PROCESSES=str(CLONES)) as service:
            site, git = Site(service), GitClient(tmp_path, timeout_s=CLIENT_S)
            blobs = -(-SIZE_MB * (1 << 20) // BLOB_BYTES)
            for number in range(blobs):
                site.repo.commit({f"media/{number}.bin": os.urandom(BLOB_BYTES)})
            # The state after the packing job of the worker.
            site.repo.git("repack", "-a", "-d", "-q")
            url = site.url(site.token("read"))

            def clone(number: int) -> None:
                git.clone(url, "--bare", name=f"clone{number}")
                subprocess.run(["rm", "-rf", git.folder / f"clone{number}"], check=True)

            with observed(service) as (answers_ms, memory_kib), ThreadPoolExecutor(CLONES) as pool:
                time.sleep(1)
                taken_s = seconds(lambda: list(pool.map(clone, range(CLONES))))
            with capsys.disabled():
                print(f"\n{CLONES} clones of {SIZE_MB} MiB at the same time in {taken_s:.1f} s")
                print(f"  {summary(answers_ms, memory_kib)}")

    def test_answers_and_memory_next_to_a_large_push(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        with Service(tmp_path / "service", workers=1, GIT_MAX_PUSH_MB="400") as service:
            site, git = Site(service), GitClient(tmp_path)
            git.clone(site.url(site.token()))
            git.commit("site", {f"media/{number}.bin": os.urandom(BLOB_BYTES) for number in range(SIZE_MB // 5)})
            with observed(service) as (answers_ms, memory_kib):
                time.sleep(1)
                taken_s = seconds(lambda: git.ok("push", "--quiet", within="site"))
            with capsys.disabled():
                print(f"\npush of {SIZE_MB} MiB in {taken_s:.1f} s\n  {summary(answers_ms, memory_kib)}")


class TestRatio:
    def test_clone_of_many_files_next_to_git_daemon(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        with Service(tmp_path / "service", workers=1) as service:
            site = Site(service, {f"content/{n // 500}/{n}.md": f"# Page {n}\n".encode() * 20 for n in range(FILES)})
            repo = GitRepo.existing(site.repo.folder)
            repo.git("repack", "-a", "-d", "-q")
            git = GitClient(tmp_path)
            with git_daemon(repo.folder.parent.parent) as daemon:
                urls = {
                    "galley": site.url(site.token("read")),
                    "git daemon": f"{daemon}/{repo.folder.parent.name}/{repo.folder.name}",
                }
                taken: dict[str, list[float]] = {name: [] for name in urls}
                for number in range(ROUNDS + 1):
                    for name, url in urls.items():
                        folder = f"{name.partition(' ')[0]}{number}"
                        taken[name].append(
                            seconds(lambda url=url, folder=folder: git.clone(url, "--bare", name=folder))
                        )
        medians = {name: statistics.median(values[1:]) for name, values in taken.items()}
        with capsys.disabled():
            ratio = medians["galley"] / medians["git daemon"]
            print(f"\nclone of {FILES:,} files: {', '.join(f'{n} {s * 1_000:.0f} ms' for n, s in medians.items())}")
            print(f"  ratio {ratio:.2f}")
