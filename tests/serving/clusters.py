"""Cluster as `make cluster` starts it, with its own ports, database, Redis and folder."""

import contextlib
import json
import os
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

from tests.serving.processes import PASSED_ON, ROOT
from tests.support.programs import required_program
from tests.support.servers.ports import free_port
from tests.support.servers.redis import redis_server

SERVER = "postgresql://postgres@127.0.0.1:5432"
FINISHED = "job.finished"
"""The event of a finished job."""


class Cluster:
    """A running cluster. `env` is the environment of a command on one of its nodes."""

    def __init__(self, home: Path, redis_url: str, database: str, **environment: str) -> None:
        self.home, self.instance, self.database = home, home / "instance", database
        self.port, store, *self.web_ports = (free_port() for _ in range(4))
        self.base = f"http://127.0.0.1:{self.port}"
        inherited = {name: os.environ[name] for name in PASSED_ON if name in os.environ}
        self.env = inherited | {
            "INSTANCE_DIR": str(self.instance),
            "CLUSTER_PORT": str(self.port),
            "CLUSTER_WEB_PORTS": ",".join(map(str, self.web_ports)),
            "CLUSTER_STORE_PORT": str(store),
            "DATABASE_URL": f"postgresql+psycopg{SERVER.removeprefix('postgresql')}/{database}",
            "REDIS_URL": redis_url,
            "LOG_LEVEL": "DEBUG",
            **environment,
        }
        self.log_file = home / "cluster.log"
        with self.log_file.open("wb") as log:
            self.process = subprocess.Popen(
                [sys.executable, str(ROOT / "deploy" / "cluster.py")],
                cwd=ROOT, env=self.env, stdout=log, stderr=subprocess.STDOUT, start_new_session=True,
            )  # fmt: skip

    def wait_for(self, line: str, within_s: float = 120) -> None:
        """Wait until the cluster prints a text or has ended."""
        deadline = time.monotonic() + within_s
        while line not in self.log_file.read_text():
            assert self.process.poll() is None, f"the cluster ended:\n{self.logs()}"
            assert time.monotonic() < deadline, f"the cluster did not print {line!r}:\n{self.logs()}"
            time.sleep(0.1)

    def wait_for_job(self, name: str, within_s: float = 120) -> None:
        """Wait until a worker logs the end of a job of this name."""
        deadline = time.monotonic() + within_s
        while not any(self.finished(name)):
            assert time.monotonic() < deadline, f"{name} did not finish:\n{self.logs()}"
            time.sleep(0.1)

    def finished(self, name: str) -> list[dict[str, Any]]:
        """Return the log lines of all workers about finished jobs of this name."""
        texts = [self.log(file.stem) for file in (self.instance / "logs").glob("worker-*.log")]
        lines = [json.loads(line) for text in texts for line in text.splitlines() if line.startswith("{")]
        return [line for line in lines if line["event"] == FINISHED and line.get("job") == name]

    def pid(self, name: str) -> int:
        """Return the process id of a node such as `web-1`, `worker-2` or `nginx`."""
        return int((self.instance / "pids" / name).read_text())

    def kill(self, name: str) -> None:
        """Kill all processes of a node with SIGKILL."""
        os.killpg(self.pid(name), signal.SIGKILL)

    def log(self, name: str) -> str:
        """Return the log of a node."""
        return (self.instance / "logs" / f"{name}.log").read_text(errors="replace")

    def logs(self) -> str:
        """Return the last log lines of all nodes, for the report of a failing test."""
        files = [self.log_file, *sorted((self.instance / "logs").glob("*.log"))]
        return "\n".join(f"--- {file.name}\n{file.read_text(errors='replace')[-1500:]}" for file in files)

    @property
    def password(self) -> str:
        """Return the password of the demo accounts."""
        return (self.instance / "demo_password").read_text().strip()

    def is_up(self, port: int) -> bool:
        """Return whether the port accepts connections."""
        with (
            contextlib.suppress(OSError),
            urllib.request.urlopen(f"http://127.0.0.1:{port}/healthz", timeout=5) as response,
        ):
            return bool(response.status == 200)
        return False

    def shell(self) -> dict[str, str]:
        """Return the environment of a shell that has sourced the file written by the cluster."""
        lines = subprocess.run(
            ["env", "-i", "bash", "-c", f"set -a; . {self.instance}/environment; /usr/bin/env -0"],
            capture_output=True, text=True, check=True,
        ).stdout  # fmt: skip
        sourced = dict(line.split("=", 1) for line in lines.split("\0") if line)
        return sourced | {"PATH": f"{ROOT}/.venv/bin:{self.env['PATH']}"}

    def stop(self) -> float:
        """Send SIGTERM to the started process and return the seconds until all processes have ended."""
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
    """Run a cluster. The test is skipped without Redis or other required programs where that is permitted."""
    required_program("nginx", package="nginx-light")
    try:
        psycopg.connect(f"{SERVER}/postgres", connect_timeout=5).close()
    except psycopg.OperationalError:
        if os.environ.get("CI"):
            raise
        pytest.skip("PostgreSQL is not reachable on 127.0.0.1:5432")
    database = f"galley_cluster_{uuid.uuid4().hex[:12]}"
    try:
        with redis_server(home) as redis:
            cluster = Cluster(home, redis.url, database, **environment)
            try:
                cluster.wait_for("Galley answers at")
                yield cluster
            finally:
                cluster.stop()
    finally:
        with psycopg.connect(f"{SERVER}/postgres", autocommit=True) as connection:
            connection.execute(f"DROP DATABASE IF EXISTS {database} WITH (FORCE)")
