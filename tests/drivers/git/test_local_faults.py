"""Tests of the local driver with killed writers and with concurrent greenlets."""

import json
import os
import random
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from app.drivers.git.local.provider import LocalGit
from app.drivers.git.port import Action, FileChange, Person
from tests.support.pace import within
from tests.support.samples.gitrepo import GitRepo

ROOT = Path(__file__).parents[3]
REPO = "team/site"
SET_UP = """
import json, sys, time
from pathlib import Path
from app.drivers.git.local.provider import LocalGit
from app.drivers.git.errors import BranchMoved
from app.drivers.git.port import Action, FileChange, Person
git, repo = LocalGit(Path(sys.argv[1]), bot=Person("Galley Bot", "bot@mail.example.org")), "team/site"
def add(path):
    while True:
        with git.open(repo).branch_lock("main"):
            try:
                head = git.open(repo).head("main")
                return git.open(repo).commit("main", [FileChange(path, Action.CREATE, b"x" * 5000)], path, expected_head=head).sha
            except BranchMoved:
                pass
"""
WRITER = (
    SET_UP
    + """
for number in range(10_000):
    print(add(f"{sys.argv[2]}/{number}"), flush=True)
"""
)
GREENLETS = (
    "import gevent.monkey\ngevent.monkey.patch_all()\nimport gevent\n"
    + SET_UP
    + """
gaps = []
def tick():
    while True:
        before = time.perf_counter()
        gevent.sleep(0.005)
        gaps.append(time.perf_counter() - before)
ticker = gevent.spawn(tick)
told = [gevent.spawn(lambda n=n: [add(f"{n}/{m}") for m in range(2)]) for n in range(20)]
gevent.joinall(told, raise_error=True)
ticker.kill()
git.close()
print(json.dumps({"told": [sha for job in told for sha in job.value], "longest_gap_s": max(gaps)}))
"""
)


@pytest.fixture
def repo(tmp_path: Path) -> GitRepo:
    return GitRepo(tmp_path / "git/team/site.git", {"a.md": b"a"})


def start(script: str, *arguments: str) -> "subprocess.Popen[bytes]":
    env = os.environ | {"PYTHONPATH": str(ROOT)}
    return subprocess.Popen([sys.executable, "-c", script, *arguments], stdout=subprocess.PIPE, env=env)


def kill_writer(writer: "subprocess.Popen[bytes]", *, with_git: bool) -> list[str]:
    """Kill the writer at a random time after its first commit. Return the acknowledged commits."""
    assert writer.stdout is not None
    first = writer.stdout.readline()
    time.sleep(random.uniform(0, 0.05))
    running = psutil.Process(writer.pid).children(recursive=True) if with_git else []
    for process in [psutil.Process(writer.pid), *running]:
        with suppress(psutil.NoSuchProcess):
            process.kill()
    told = (first + writer.stdout.read()).decode().splitlines()
    writer.stdout.close()
    writer.wait()
    return [sha for sha in told if len(sha) == 40]


class TestKilledWriters:
    def test_killed_writer_keeps_acknowledged_commits_and_a_writable_branch(
        self, repo: GitRepo, tmp_path: Path
    ) -> None:
        acknowledged = [repo.head()]
        for kill in range(10):
            writer = start(WRITER, str(tmp_path / "git"), f"kill{kill}")
            acknowledged += kill_writer(writer, with_git=kill % 2 == 0)
        time.sleep(0.3)  # A git process of a killed writer may not have ended yet.
        commits = repo.commits()
        assert set(acknowledged) <= set(commits)
        assert len(commits) <= len(acknowledged) + 10
        repo.check()
        provider = LocalGit(tmp_path / "git", bot=Person("Galley Bot", "bot@mail.example.org"))
        change = FileChange("after.md", Action.CREATE, b"x")
        commit = provider.open(REPO).commit("main", [change], "After", expected_head=provider.open(REPO).head("main"))
        provider.close()
        assert repo.head() == commit.sha


class TestGreenlets:
    def test_twenty_greenlets_finish_without_blocking_other_greenlets(self, repo: GitRepo, tmp_path: Path) -> None:
        process = start(GREENLETS, str(tmp_path / "git"))
        out, _ = process.communicate(timeout=120)
        assert process.returncode == 0
        content = json.loads(out)
        assert sorted(content["told"]) == sorted(repo.commits()[:-1])
        assert content["longest_gap_s"] < within(0.5)
        repo.check()
