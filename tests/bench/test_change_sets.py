"""A change set of 30 files: CPU time of its commit, diff and publication, compared with the workflow of decap-server.

A commit contains the creation of the branch. The servers and their Git processes run on the first core, on repositories of
the same files. All are interleaved.
"""

from collections.abc import Callable, Mapping
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import pytest
import requests

from tests.bench import peers
from tests.bench.galley import Galley
from tests.bench.servers import Server, ratio
from tests.bench.test_saves import contents, work_tree

# The CPU time of ended processes has steps of 10 ms. A round therefore contains several sets.
FILES, ROUNDS, SETS = 30, 5, 3
GOALS = {"commit": 0.4, "diff": 0.2, "publish": 1.0}
Steps = Mapping[str, Callable[[], object]]


class TestChangeSets:
    def test_cpu_per_step_is_printed(
        self, both: list[Galley], tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        for each in both:
            url = f"{each.service.url}/api/v1/project/{each.projects[0]}"
            answer = each.service.client(each.person).patch(url, json={"required_approvals": 0}, timeout=60)
            assert answer.ok, answer.text
        with ExitStack() as stack:
            sites: dict[str, tuple[Server, Callable[[int], Steps]]] = {
                each.name: (each.server, partial(_steps, each)) for each in both
            }
            decap = stack.enter_context(peers.decap(work_tree(tmp_path)))
            if decap is not None:
                sites["decap"] = decap, partial(_steps_of_decap, decap)
            rounds = [
                {name: _round(server, steps, number) for name, (server, steps) in sites.items()}
                for number in range(ROUNDS + 1)
            ][1:]
        lines = [f"\nCPU of a change set of {FILES} files, and the ratio to the workflow of decap-server"]
        for step, goal in GOALS.items():
            taken = {name: [one[name][step] for one in rounds] for name in sites}
            costs = ", ".join(f"{name} {median(ms):.1f} ms" for name, ms in taken.items())
            ratios = ", ".join(f"{each.name} {ratio(taken[each.name], taken['decap'])}" for each in both if decap)
            lines.append(f"  {step}: {costs}; {ratios or 'no peer'} (goal ≤ {goal})")
        with capsys.disabled():
            print("\n".join(lines))


def _round(server: Server, steps_of: Callable[[int], Steps], number: int) -> dict[str, float]:
    """Return the CPU time of each step of a set in milliseconds."""
    taken = dict.fromkeys(GOALS, 0.0)
    for n in range(number * SETS, (number + 1) * SETS):
        for name, step in steps_of(n).items():
            before_s = server.cpu_s()
            step()
            taken[name] += (server.cpu_s() - before_s) / SETS * 1_000
    return taken


def _steps(each: Galley, number: int) -> Steps:
    client, api = each.service.client(each.person), f"{each.service.url}/api/v1"

    def call(method: str, path: str, body: object = None) -> Any:
        answer = client.request(method, api + path, json=body, timeout=60)
        assert answer.ok, (path, answer.text)
        return answer.json()["result"]

    def commit() -> None:
        made = call("POST", f"/project/{each.projects[0]}/change-sets", {"title": f"Set {number}"})
        files = [{"path": path, "action": "update", "content": text} for path, text in contents(number, FILES).items()]
        body = {"message": "Edit", "base_sha": made["base_sha"], "files": files}
        paths.append(f"/change-set/{made['id']}")
        call("POST", f"{paths[0]}/commit", body)

    paths: list[str] = []
    return {
        "commit": commit,
        "diff": lambda: call("GET", f"{paths[0]}/diff"),
        "publish": lambda: call("POST", f"{paths[0]}/publish"),
    }


def _steps_of_decap(server: Server, number: int) -> Steps:
    entry = {"collection": "posts", "slug": f"set-{number}", "branch": "main"}

    def call(action: str, **parameters: object) -> None:
        body = {"action": action, "params": entry | parameters}
        answer = requests.post(f"http://127.0.0.1:{server.port}/api/v1", json=body, timeout=60)
        assert answer.ok, answer.text

    files = [{"slug": entry["slug"], "path": path, "raw": raw} for path, raw in contents(number, FILES).items()]
    options = {"collectionName": "posts", "commitMessage": "Edit", "useWorkflow": True, "status": "draft"}
    return {
        "commit": partial(call, "persistEntry", dataFiles=files, assets=[], options=options),
        "diff": partial(call, "unpublishedEntry"),
        "publish": partial(call, "publishUnpublishedEntry"),
    }
