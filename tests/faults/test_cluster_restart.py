"""Tests of a rolling restart under load. Requests are answered, and each stream ends with an error part.

A node that closes its listening socket resets the connections that it has not accepted. nginx repeats their requests
on another node, except POST and PATCH.

The tests include a migration: nodes of this version use the migrated database, then run next to nodes of the next version.
"""

import signal
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psycopg
import pytest
import requests

from tests.resources.ai.streams import Part, parts
from tests.serving.clusters import SERVER, Cluster, running
from tests.serving.processes import ROOT
from tests.serving.traffic import Traffic
from tests.support.doubles.ai import AiDouble
from tests.support.next_version import NextVersion

LOAD = {"APP_ENV": "test", "RATE_LIMIT_SCALE": "100000"}
MAX_LOST_REQUESTS = 2
NODES = ("web-1", "web-2", "worker-1", "worker-2")


def roll(cluster: Cluster) -> None:
    """Migrate, and restart every node."""
    cluster.process.send_signal(signal.SIGHUP)
    cluster.wait_for("All nodes are new", 300)


def report(capsys: pytest.CaptureFixture[str], cluster: Cluster, traffic: Traffic) -> None:
    drained = [line for line in cluster.log_file.read_text().splitlines() if "drained" in line]
    with capsys.disabled():
        print(f"\n{dict(traffic.answers)}, slowest {traffic.slowest_s:.1f} s; {'; '.join(drained)}")


def check(traffic: Traffic) -> None:
    """Check that only few POST requests were lost and that every acknowledged write exists once."""
    others = [failure for failure in traffic.failures if not (failure.startswith("POST") and "NODE_LOST" in failure)]
    assert others == []
    assert len(traffic.failures) <= MAX_LOST_REQUESTS
    assert traffic.acknowledged > 100
    names, created = traffic.stored_writes()
    assert [name for name in traffic.logged if names[name] != 1] == []
    assert [path for path in traffic.saved if created[path] != 1] == []


class TestRestart:
    def test_rolling_restart_answers_requests_and_ends_streams_with_an_error(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        with AiDouble() as double:
            double.fault = "endless"
            model = {"AI_PROVIDER": "openai", "AI_MODEL": "m", "OPENAI_BASE_URL": double.url, "OPENAI_API_KEY": "k"}
            with running(tmp_path, **LOAD, **model) as cluster, ThreadPoolExecutor() as beside:
                cluster.wait_for_job("content.index")
                with Traffic(cluster) as traffic:
                    stream = beside.submit(read_stream, cluster, traffic.cookies)
                    roll(cluster)
                report(capsys, cluster, traffic)
                check(traffic)
                last = stream.result()[-1]
        assert last["type"] == "error"
        assert "restarting" in last["errorText"]


def read_stream(cluster: Cluster, cookies: dict[str, str]) -> list[Part]:
    """Read all parts of an endless response."""
    asked = {"prompt": "Write about tea"}
    answer = requests.post(f"{cluster.base}/api/ai/command", json=asked, cookies=cookies, timeout=150)
    return parts(answer.content)


class TestUpgrade:
    def test_rolling_upgrade_with_a_migration_answers_requests(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        later, current = NextVersion(tmp_path / "next"), tmp_path / "current"
        current.symlink_to(ROOT)
        with running(tmp_path, **LOAD, CLUSTER_CODE=str(current)) as cluster:
            cluster.wait_for_job("content.index")
            before = revision(cluster)
            with Traffic(cluster) as traffic:
                current.unlink()
                current.symlink_to(later.folder)
                roll(cluster)
            report(capsys, cluster, traffic)
            assert before < revision(cluster) == later.revision
            assert {Path(f"/proc/{cluster.pid(node)}/cwd").resolve() for node in NODES} == {later.folder}
            check(traffic)


def revision(cluster: Cluster) -> str:
    """Return the revision of the database."""
    with psycopg.connect(f"{SERVER}/{cluster.database}") as connection:
        result = connection.execute("SELECT version_num FROM alembic_version").fetchone()
    assert result is not None
    return str(result[0])
