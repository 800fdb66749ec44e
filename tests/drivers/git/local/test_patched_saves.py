"""Tests of commits of the local driver in a process that gevent has patched, as in the web workers."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from gevent import monkey

from app.drivers.git.object_ids import blob_sha
from tests.support.samples.contents import content_of
from tests.support.samples.gitrepo import GitRepo

ROOT = Path(__file__).parents[4]
KIB, MIB = 1 << 10, 1 << 20
SCRIPT = """
import gevent.monkey
gevent.monkey.patch_all()
import json, sys
from pathlib import Path
from app.drivers.git.local.provider import LocalGit
from app.drivers.git.port import Action, FileChange, Person
from contents import content_of

root, cases = Path(sys.argv[1]), json.loads(sys.argv[2])
git, repo = LocalGit(root, bot=Person("Galley Bot", "bot@mail.example.org")), "team/site"
for name, kind, size, count in cases:
    head = git.open(repo).head("main")
    changes = [FileChange(f"{name}/{n}", Action.CREATE, content_of(kind, n, size)) for n in range(count)]
    commit = git.open(repo).commit("main", changes, name, expected_head=head)
    shas = [change.entry.sha for change in commit.changes]
    sizes = [len(content) for _, content in git.open(repo).blobs(shas, max_bytes=10**9)]
    print(json.dumps([name, commit.sha, sizes]), flush=True)
git.close()
"""
SIZES = {"1k": KIB, "60k": 60 * KIB, "64k": 64 * KIB, "70k": 70 * KIB, "1m": MIB, "5m": 5 * MIB, "25m": 25 * MIB}
CASES = [
    (f"{kind}-{label}-{count}", kind, size // count, count)
    for kind in ("text", "binary")
    for label, size in SIZES.items()
    for count in (1, 300)
]


@pytest.fixture
def repo(tmp_path: Path) -> GitRepo:
    return GitRepo(tmp_path / "git/team/site.git", {"a.md": b"a"})


@pytest.mark.skipif(monkey.is_module_patched("threading"), reason="starts a patched process; one start is enough")
def test_commit_in_patched_process_writes_every_byte_of_each_size(repo: GitRepo, tmp_path: Path) -> None:
    command = [sys.executable, "-c", SCRIPT, str(tmp_path / "git"), json.dumps(CASES)]
    environment = os.environ | {"PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'tests/support/samples'}"}
    process = subprocess.run(command, capture_output=True, text=True, timeout=240, env=environment)
    assert process.returncode == 0, process.stderr[-2000:]
    reports = {name: (sha, sizes) for name, sha, sizes in map(json.loads, process.stdout.splitlines())}
    assert list(reports) == [name for name, *_ in CASES]
    for name, kind, size, count in CASES:
        sha, sizes = reports[name]
        assert sizes == [size] * count
        entries = repo.entries(sha)
        assert {path: entry[2] for path, entry in entries.items() if path.startswith(f"{name}/")} == {
            f"{name}/{n}": blob_sha(content_of(kind, n, size)) for n in range(count)
        }
    repo.check()
