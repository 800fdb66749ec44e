"""Tests of repeatedly killed nodes. Every acknowledged write exists once, and jobs run on other nodes."""

import json
import subprocess
import time
from datetime import datetime
from pathlib import Path

import pytest

from tests.serving.clusters import Cluster, running
from tests.serving.processes import ROOT
from tests.serving.traffic import Traffic

LOAD = {"APP_ENV": "test", "RATE_LIMIT_SCALE": "100000", "CLUSTER_RESTART_S": "2"}
KILLS = 10
PAUSE_S = 3.0
PROMISED_S = 60
FILES = 10_000


class TestWebNodes:
    def test_killed_web_nodes_keep_each_acknowledged_write_once(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        with running(tmp_path, **LOAD) as cluster:
            cluster.wait_for_job("content.index")
            with Traffic(cluster, writers=6, savers=2, repeats=True) as traffic:
                for number in range(KILLS):
                    time.sleep(PAUSE_S)
                    await_both(cluster)
                    cluster.kill(f"web-{number % 2 + 1}")
                await_both(cluster)
                time.sleep(PAUSE_S)
            names, created = traffic.stored_writes()
            with capsys.disabled():
                print(f"\n{KILLS} kills, {traffic.acknowledged} acknowledged; {dict(traffic.answers)}")
            assert cluster.log_file.read_text().count("was started again") >= KILLS
        assert traffic.failures == []
        assert [name for name in traffic.logged if names[name] != 1] == []
        assert [path for path in traffic.saved if created[path] != 1] == []
        assert [name for name in traffic.unknown if names[name] > 1] == []


class TestWorkers:
    def test_killed_worker_job_runs_on_the_other_worker(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        with running(tmp_path, **LOAD | {"CLUSTER_RESTART_S": "3600"}) as cluster:
            cluster.wait_for_job("content.index")
            with Traffic(cluster, readers=1, writers=0, savers=0) as traffic:
                fill_repository(cluster)
                victim, job = await_index(cluster)
                killed_at = time.time()
                cluster.kill(victim)
                other = {"worker-1": "worker-2", "worker-2": "worker-1"}[victim]
                again = await_line(cluster, other, "job.started", job)
                await_line(cluster, other, "job.finished", job)
            taken_up_s = datetime.fromisoformat(again["timestamp"]).timestamp() - killed_at
            with capsys.disabled():
                print(f"\n{victim} killed while indexing; {other} took it up after {taken_up_s:.0f} s")
            verified = subprocess.run(
                ["flask", "index", "verify", traffic.project],
                cwd=ROOT,
                env=cluster.shell(),
                capture_output=True,
                text=True,
            )
        assert taken_up_s <= PROMISED_S
        assert verified.returncode == 0, verified.stdout + verified.stderr
        assert traffic.failures == []


def await_both(cluster: Cluster) -> None:
    """Wait until both web nodes respond, so that one remains after a kill."""
    deadline = time.monotonic() + 60
    while not all(cluster.is_up(port) for port in cluster.web_ports):
        assert time.monotonic() < deadline, cluster.logs()
        time.sleep(0.2)


def fill_repository(cluster: Cluster) -> None:
    """Push many files to the demo repository outside of the service. The next read starts the indexing."""
    repository = cluster.instance / "git" / "demo" / "harbour-journal.git"
    lines = [
        "commit refs/heads/main",
        "committer A <a@example.org> 0 +0000",
        "data 4",
        "Many",
        "from refs/heads/main^0",
    ]
    for number in range(FILES):
        text = f"---\ntitle: Page {number}\n---\n\n# Page {number}\n"
        lines += [f"M 100644 inline content/many/{number}.md", f"data {len(text)}", text]
    stream = "\n".join([*lines, ""]).encode()
    subprocess.run(["git", "-C", str(repository), "fast-import", "--quiet"], input=stream, check=True)


def await_index(cluster: Cluster) -> tuple[str, str]:
    """Wait for the indexing of the new files. Return the worker and the id of the job."""
    observed = {line["job_id"] for line in cluster.finished("content.index")}
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        for worker in ("worker-1", "worker-2"):
            for line in lines_of(cluster, worker):
                if line["event"] == "job.started" and line["job"] == "content.index" and line["job_id"] not in observed:
                    return worker, str(line["job_id"])
        time.sleep(0.02)
    raise AssertionError(f"nobody indexes:\n{cluster.logs()}")


def await_line(cluster: Cluster, worker: str, event: str, job: str) -> dict[str, str]:
    deadline = time.monotonic() + 2 * PROMISED_S
    while time.monotonic() < deadline:
        for line in lines_of(cluster, worker):
            if line["event"] == event and line.get("job_id") == job:
                return line
        time.sleep(0.1)
    raise AssertionError(f"{worker} never said {event} of job {job}:\n{cluster.logs()}")


def lines_of(cluster: Cluster, worker: str) -> list[dict[str, str]]:
    whole = cluster.log(worker).rpartition("\n")[0]
    return [json.loads(line) for line in whole.splitlines() if line.startswith("{")]
