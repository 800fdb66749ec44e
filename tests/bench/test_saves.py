"""Saves of 1 and 100 files to a repository of this machine: CPU time of the server and its Git processes.

The peers are decap-server, which commits in a work tree, and `git fast-import` of the same files. All are interleaved in
one run. The servers run on the first core. A request is sent to the API of each server as its editor sends it.
"""

import itertools
import subprocess
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from statistics import median

import orjson
import pytest
import requests

from tests.bench import large, peers
from tests.bench.galley import Galley
from tests.bench.servers import Server, ratio
from tests.support.samples.gitrepo import Content, GitRepo

FILES, ROUNDS = 2_000, 8
# The CPU time of ended processes has steps of 10 ms. A measurement therefore contains several saves.
SAVES = 5
SIZES = (1, 100)
GOALS = {1: 0.15, 100: 0.25}
Save = Callable[[int, int], float]
"""(number of the save, number of files) → CPU seconds."""


class TestSaves:
    def test_cpu_per_save_is_printed(
        self, both: list[Galley], tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        with ExitStack() as stack:
            saves: dict[str, Save] = {each.name: partial(_save, each) for each in both}
            saves["fast-import"] = partial(_import, large.make_repository(tmp_path / "plain.git", FILES))
            decap = stack.enter_context(peers.decap(work_tree(tmp_path)))
            if decap is not None:
                saves["decap"] = partial(_save_with_decap, decap)
            taken: dict[tuple[str, int], list[float]] = {}
            for round_number, files, name in itertools.product(range(ROUNDS + 1), SIZES, saves):
                numbers = range(round_number * SAVES, (round_number + 1) * SAVES)
                taken.setdefault((name, files), []).append(_ms_per_save(saves[name], numbers, files))
        lines = ["\nCPU of a save to a local repository, with the programs that it runs"]
        for files in SIZES:
            rounds = {name: taken[name, files][1:] for name in saves}
            lines.append(f"  {files} files: {', '.join(f'{name} {median(ms):.1f} ms' for name, ms in rounds.items())}")
            if decap is not None:
                ratios = ", ".join(f"{each.name} {ratio(rounds[each.name], rounds['decap'])}" for each in both)
                lines.append(f"    of decap: {ratios} (goal ≤ {GOALS[files]})")
        with capsys.disabled():
            print("\n".join(lines))


def _ms_per_save(save: Save, numbers: range, files: int) -> float:
    return sum(save(number, files) for number in numbers) / len(numbers) * 1_000


def _save(each: Galley, number: int, files: int) -> float:
    repository = GitRepo.existing(each.service.world.git_root / f"bench/{each.name.lower()}.git")
    changes = [
        {"path": path, "action": "update", "content": content} for path, content in contents(number, files).items()
    ]
    body = {"message": "Save", "base_sha": repository.head(), "files": changes}
    client, before_s = each.service.client(each.person), each.server.cpu_s()
    url = f"{each.service.url}/api/v1/project-content/{each.projects[0]}/commit"
    answer = client.post(url, data=orjson.dumps(body), headers={"Content-Type": "application/json"}, timeout=60)
    assert answer.status_code == 201, answer.text
    return each.server.cpu_s() - before_s


def _save_with_decap(server: Server, number: int, files: int) -> float:
    entries = [
        {"slug": Path(path).stem, "path": path, "raw": content} for path, content in contents(number, files).items()
    ]
    options = {"collectionName": "posts", "commitMessage": "Save", "useWorkflow": False, "status": "draft"}
    parameters = {"branch": "main", "dataFiles": entries, "assets": [], "options": options}
    body = {"action": "persistEntry", "params": parameters}
    before_s = server.cpu_s()
    answer = requests.post(f"http://127.0.0.1:{server.port}/api/v1", json=body, timeout=60)
    assert answer.ok, answer.text
    return server.cpu_s() - before_s


def _import(repository: GitRepo, number: int, files: int) -> float:
    encoded: dict[str, Content] = {path: text.encode() for path, text in contents(number, files).items()}
    return large.cpu_taken(lambda: repository.commit(encoded))


def contents(number: int, files: int) -> dict[str, str]:
    return {
        f"content/section-{n // 200:04}/post-{n:06}.md": f"---\ntitle: Post {n}\n---\n\nChanged {number} {files}\n"
        for n in range(files)
    }


def work_tree(folder: Path) -> Path:
    bare = large.make_repository(folder / "decap.git", FILES)
    tree = folder / "decap"
    subprocess.run(["git", "clone", "--quiet", "--branch", "main", bare.folder, tree], check=True)
    for name, value in (("user.name", "A"), ("user.email", "a@mail.example.org")):
        subprocess.run(["git", "-C", tree, "config", name, value], check=True)
    return tree
