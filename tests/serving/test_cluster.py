"""Several nodes behind nginx: shared state, and the effect of killed nodes on a client."""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest
import requests

from tests.drivers.sandbox.machine import is_alive
from tests.serving.clusters import Cluster, running
from tests.serving.processes import ROOT
from tests.serving.readme import comparable, steps
from tests.support.samples.pictures import picture

OWNER, EDITOR = "owner@demo.example.org", "editor@demo.example.org"


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """Start a cluster that does not restart killed nodes."""
    with running(tmp_path_factory.mktemp("cluster"), CLUSTER_RESTART_S="3600") as cluster:
        yield cluster


def browser() -> requests.Session:
    session = requests.Session()
    session.trust_env = False
    return session


def sign_in(client: requests.Session, cluster: Cluster, port: int, email: str, password: str) -> requests.Response:
    """Sign in on one node, with the headers that nginx sends."""
    headers = {"X-Forwarded-For": "203.0.113.7"}
    body = {"email": email, "password": password}
    return client.post(f"http://127.0.0.1:{port}/api/v1/auth/sign-in/email", json=body, headers=headers, timeout=30)


class TestSharedState:
    def test_session_of_one_node_is_valid_on_all_nodes(self, cluster: Cluster) -> None:
        person = browser()
        assert sign_in(person, cluster, cluster.web_ports[0], OWNER, cluster.password).status_code == 200
        token = person.cookies["session_token"]
        answers: list[Any] = [
            requests.get(
                f"http://127.0.0.1:{port}/api/v1/auth/get-session", cookies={"session_token": token}, timeout=30
            ).json()["result"]["user"]["email"]
            for port in (*cluster.web_ports, cluster.port)
        ]
        assert answers == [OWNER] * 3

    def test_sign_in_attempts_are_counted_over_all_nodes(self, cluster: Cluster) -> None:
        statuses = [
            sign_in(browser(), cluster, cluster.web_ports[number % 2], EDITOR, "Wrong-Harbour-1").status_code
            for number in range(11)
        ]
        assert statuses == [401] * 10 + [429]

    def test_asset_uploaded_to_one_node_is_served_by_the_other(self, cluster: Cluster) -> None:
        person = browser()
        sign_in(person, cluster, cluster.web_ports[0], OWNER, cluster.password)
        upload = f"http://127.0.0.1:{cluster.web_ports[0]}/api/v1/bucket/upload"
        answer = person.post(upload, files={"file": ("a.png", picture())}, timeout=30)
        assert answer.status_code == 201, answer.text
        path = answer.json()["result"]["url"].split("/", 3)[3]
        served = requests.get(f"http://127.0.0.1:{cluster.web_ports[1]}/{path}", timeout=30)
        assert (served.status_code, served.headers["Content-Type"]) == (200, "image/png")


class TestKilledNodes:
    def test_tour_with_a_killed_web_node_and_worker_completes(self, cluster: Cluster, tmp_path: Path) -> None:
        cluster.wait_for_job("content.index")  # Wait for the first index of the demo.
        told = steps("Five minutes with curl")
        # The third step has signed in. The following steps read, save and receive a conflict.
        kill = f"kill -9 -{cluster.pid('web-1')} -{cluster.pid('worker-1')}"
        blocks = [f"{commands}\necho @@@@" for commands, _ in told]
        script = "set -euo pipefail\n" + "\n".join([*blocks[:3], kill, *blocks[3:]])
        script = script.replace("/tmp/galley-save.json", f"{tmp_path}/save.json").replace(".venv/bin/flask", "flask")
        done = subprocess.run(
            ["bash", "-c", script],
            cwd=ROOT,
            env=cluster.shell() | {"HOME": str(tmp_path)},
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stderr + cluster.logs()
        for (_, expected), actual in zip(told, done.stdout.split("@@@@\n"), strict=False):
            assert comparable(actual) == comparable(expected)
        assert not cluster.is_up(cluster.web_ports[0])


class TestShutdown:
    def test_sigterm_ends_every_process(self, cluster: Cluster) -> None:
        below = psutil.Process(cluster.process.pid).children(recursive=True)
        names = {process.name() for process in below}
        assert {"nginx", "gunicorn", "rclone"} <= names
        cluster.stop()
        assert cluster.process.returncode == 0
        # The idle git processes of an ended web node belong to the first process of the machine until it reads their status.
        _, remaining = psutil.wait_procs(below, timeout=30)
        assert [process for process in remaining if is_alive(process.pid)] == []
        assert os.listdir(cluster.instance / "pids") == []  # noqa: PTH208 (its names are enough)
