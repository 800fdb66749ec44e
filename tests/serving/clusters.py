"""The cluster as `make cluster` starts it: ports, database, Redis and folder of its own."""

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time
import urllib.request
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from tests.servers.ports import free_port
from tests.servers.redis import Redis
from tests.serving.processes import PASSED_ON, ROOT

SERVER = "postgresql://postgres@127.0.0.1:5432"
PLACES = os.pathsep.join([os.environ.get("PATH", ""), "/usr/sbin"])


class Cluster:
    """A running cluster; `env` is what commands need to be one of its nodes."""

    def __init__(self, home: Path, redis_url: str, database: str, **environment: str) -> None:
        self.home, self.instance, self.database = home, home / "instance", database
        self.port, store, *self.web_ports = (free_port() for _ in range(4))
        self.base = f"http://127.0.0.1:{self.port}"
        kept = {name: os.environ[name] for name in PASSED_ON if name in os.environ}
        self.env = kept | {
            "INSTANCE_DIR": str(self.instance),
            "CLUSTER_PORT": str(self.port),
            "CLUSTER_WEB_PORTS": ",".join(map(str, self.web_ports)),
            "CLUSTER_STORE_PORT": str(store),
            "DATABASE_URL": f"postgresql+psycopg{SERVER.removeprefix('postgresql')}/{database}",
            "REDIS_URL": redis_url,
            **environment,
        }
        self.told = home / "cluster.log"
        with self.told.open("wb") as log:
            self.process = subprocess.Popen(
                [sys.executable, str(ROOT / "deploy" / "cluster.py")],
                cwd=ROOT, env=self.env, stdout=log, stderr=subprocess.STDOUT, start_new_session=True,
            )  # fmt: skip

    def wait_for(self, line: str, within_s: float = 120) -> None:
        """Wait until the cluster says this, or has ended."""
        deadline = time.monotonic() + within_s
        while line not in self.told.read_text():
            assert self.process.poll() is None, f"the cluster ended:\n{self.logs()}"
            assert time.monotonic() < deadline, f"the cluster did not say {line!r}:\n{self.logs()}"
            time.sleep(0.1)

    def wait_for_job(self, name: str, within_s: float = 120) -> None:
        """Wait until any worker tells that a job of this name has finished."""
        deadline = time.monotonic() + within_s
        while not any(self.finished(name)):
            assert time.monotonic() < deadline, f"{name} did not finish:\n{self.logs()}"
            time.sleep(0.1)

    def finished(self, name: str) -> list[dict[str, Any]]:
        """The lines of all workers about finished jobs of this name."""
        texts = [self.log(file.stem) for file in (self.instance / "logs").glob("worker-*.log")]
        lines = [json.loads(line) for text in texts for line in text.splitlines() if line.startswith("{")]
        return [line for line in lines if line["event"] == "job_finished" and line.get("job") == name]

    def pid(self, name: str) -> int:
        """The process id of a node by its name, like `web-1`, `worker-2` or `nginx`."""
        return int((self.instance / "pids" / name).read_text())

    def kill(self, name: str) -> None:
        """Kill -9 of a node, all of its processes at once."""
        os.killpg(self.pid(name), signal.SIGKILL)

    def log(self, name: str) -> str:
        """What a node has said."""
        return (self.instance / "logs" / f"{name}.log").read_text(errors="replace")

    def logs(self) -> str:
        """What everybody said last, for a failing test."""
        files = [self.told, *sorted((self.instance / "logs").glob("*.log"))]
        return "\n".join(f"--- {file.name}\n{file.read_text(errors='replace')[-1500:]}" for file in files)

    @property
    def password(self) -> str:
        """The demo's."""
        return (self.instance / "demo_password").read_text().strip()

    def is_up(self, port: int) -> bool:
        """Whether that port answers."""
        with contextlib.suppress(OSError), urllib.request.urlopen(f"http://127.0.0.1:{port}/healthz", timeout=5) as got:
            return bool(got.status == 200)
        return False

    def shell(self) -> dict[str, str]:
        """The environment of somebody who has sourced what the cluster wrote down."""
        lines = subprocess.run(
            ["env", "-i", "bash", "-c", f"set -a; . {self.instance}/environment; /usr/bin/env -0"],
            capture_output=True, text=True, check=True,
        ).stdout  # fmt: skip
        sourced = dict(line.split("=", 1) for line in lines.split("\0") if line)
        return sourced | {"PATH": f"{ROOT}/.venv/bin:{self.env['PATH']}"}

    def stop(self) -> float:
        """SIGTERM to the one process that was started; returns the seconds until all was gone."""
        started = time.monotonic()
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(60)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        return time.monotonic() - started


@contextlib.contextmanager
def running(home: Path, **environment: str) -> Iterator[Cluster]:
    """A cluster for the code inside; the test is passed over without Redis, and without the others where that may be."""
    if shutil.which("redis-server") is None:
        pytest.skip("redis-server is not installed")
    if shutil.which("nginx", path=PLACES) is None and not os.environ.get("CI"):
        pytest.skip("nginx is not installed")
    try:
        psycopg.connect(f"{SERVER}/postgres", connect_timeout=5).close()
    except psycopg.OperationalError:
        if os.environ.get("CI"):
            raise
        pytest.skip("PostgreSQL is not reachable on 127.0.0.1:5432")
    database, redis = f"galley_cluster_{uuid.uuid4().hex[:12]}", Redis(home)
    cluster = Cluster(home, redis.url, database, **environment)
    try:
        cluster.wait_for("Galley answers at")
        yield cluster
    finally:
        cluster.stop()
        redis.stop()
        with psycopg.connect(f"{SERVER}/postgres", autocommit=True) as connection:
            connection.execute(f"DROP DATABASE IF EXISTS {database} WITH (FORCE)")
