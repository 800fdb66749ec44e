"""`make cluster`: web nodes and workers behind one nginx, on PostgreSQL, Redis and an object store.

`deploy/cluster.env` contains the settings. SIGTERM or Ctrl-C stops the cluster. SIGHUP migrates the database and restarts
the nodes one after another. A node that dies is restarted.
"""

import os
import shutil
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from dataclasses import dataclass
from pathlib import Path

import psycopg
import sqlalchemy as sa
from psycopg import sql

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "deploy")]

import cluster_environment  # noqa: E402 (the checkout is no installed package)
import cluster_nginx  # noqa: E402
from supervisor import STEP_S, Process, Supervisor, say  # noqa: E402

from config import ConfigError, Settings  # noqa: E402

ANSWERS_WITHIN_S = 120.0


@dataclass
class Cluster:
    """The processes of an installation, and the environment of every node."""

    environment: dict[str, str]
    settings: Settings

    def __post_init__(self) -> None:
        self.home = self.settings.server.instance_dir
        self.code = ROOT / self.environment["CLUSTER_CODE"]
        self.web_ports = [int(port) for port in self.environment["CLUSTER_WEB_PORTS"].split(",")]
        self.supervisor = Supervisor(self.home, restart_after_s=float(self.environment["CLUSTER_RESTART_S"]))
        self.store = self._process("store", cluster_environment.store_command(self.environment, self.home))
        self.web = [
            self._process(f"web-{number}", ["gunicorn", "wsgi:app"], HOST="127.0.0.1", PORT=str(port))
            for number, port in enumerate(self.web_ports, start=1)
        ]
        workers = range(1, int(self.environment["CLUSTER_WORKERS"]) + 1)
        self.workers = [self._process(f"worker-{number}", ["flask", "worker"]) for number in workers]
        self.nginx = self._process("nginx", cluster_nginx.command(self.home))
        self.sign_ins = ""
        self.nginx.ends_with = signal.SIGQUIT  # nginx finishes running requests

    def _process(self, name: str, command: list[str], **more: str) -> Process:
        return Process(name, command, self.environment | more, self.code)

    def start(self) -> None:
        """Start the object store, prepare the database, then start the nodes and, once they answer, nginx."""
        create_database(self.settings.database.url)
        self.supervisor.start(self.store)
        self.flask("db", "upgrade")
        self.sign_ins = self.seed()
        for process in [*self.web, *self.workers]:
            self.supervisor.start(process)
        for port in self.web_ports:
            self.await_node(port)
        cluster_nginx.write(self.home, self.environment, self.web_ports)
        self.supervisor.start(self.nginx)
        self.await_node(int(self.environment["CLUSTER_PORT"]))

    def roll(self) -> None:
        """Migrate the database, then restart the nodes one after another."""
        self.flask("db", "upgrade")
        for process, port in [*zip(self.web, self.web_ports, strict=True), *((worker, 0) for worker in self.workers)]:
            took_s = self.supervisor.stop([process])
            self.supervisor.start(process)
            if port:
                self.await_node(port)
            say(f"{process.name} drained in {took_s:.1f} s and is new")

    def stop(self) -> None:
        """Stop nginx, the nodes and the workers, then the stores."""
        self.supervisor.stop([self.nginx, *self.web, *self.workers])
        self.supervisor.stop()

    def flask(self, *arguments: str) -> None:
        """Run a command of the service with the code and environment of the nodes.

        Raises:
            subprocess.CalledProcessError: it failed.
        """
        subprocess.run(["flask", *arguments], cwd=self.code, env=self.environment, check=True)

    def seed(self) -> str:
        """Seed the demo if there is none. Return its sign-ins.

        Raises:
            RuntimeError: it failed. Its errors are printed.
        """
        command = ["flask", "seed", "demo"]
        done = subprocess.run(command, cwd=self.code, env=self.environment, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            sys.stderr.write(done.stderr)
            raise RuntimeError("the demo could not be seeded")
        return done.stdout

    def await_node(self, port: int) -> None:
        """Wait until the node is ready to serve.

        Raises:
            RuntimeError: it is not within two minutes.
        """
        if not self.supervisor.wait_until(lambda: is_ready(port), ANSWERS_WITHIN_S):
            raise RuntimeError(f"Nothing is ready on port {port}; see {self.home / 'logs'}")


def create_database(url: str) -> None:
    """Create the database of the URL if it does not exist."""
    target = sa.make_url(url)
    parts = {"host": target.host, "port": target.port, "user": target.username, "password": target.password}
    with psycopg.connect(dbname="postgres", autocommit=True, connect_timeout=5, **parts) as connection:
        found = connection.execute("SELECT 1 FROM pg_database WHERE datname = %s", [target.database]).fetchone()
        if found is None:
            connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(target.database or "")))


def is_ready(port: int) -> bool:
    """Return whether the service on a port is ready."""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/readyz", timeout=5) as answer:
            return bool(answer.status == 200)
    except (urllib.error.URLError, OSError):
        return False


def roll(cluster: Cluster) -> str:
    """Restart all nodes. A step that fails leaves the remaining nodes unchanged."""
    try:
        cluster.roll()
    except (subprocess.CalledProcessError, RuntimeError) as error:
        return f"Broken off: {error}"
    return "All nodes are new"


def main() -> None:
    """Start the cluster, supervise it until a signal, and stop it."""
    try:
        environment = cluster_environment.read(ROOT, os.environ)
        settings = Settings.from_environment(environment)
    except ConfigError as error:
        sys.exit(str(error))
    if shutil.which("nginx", path=environment["PATH"]) is None:
        sys.exit("The cluster needs nginx; on Debian: apt-get install nginx-light")
    asked: list[int] = []
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: sys.exit(0))
    signal.signal(signal.SIGHUP, lambda number, _frame: asked.append(number))
    cluster = Cluster(environment, settings)
    try:
        cluster.start()
        say(f"\n{cluster.sign_ins}\nLogs: {cluster.home / 'logs'}")
        say(f"Before commands and the steps of guides: set -a; . {cluster.home / 'environment'}; set +a")
        say(f"Galley answers at {settings.server.base_url}\n")
        while True:
            if asked:
                asked.clear()
                say(roll(cluster))
            cluster.supervisor.restart_dead()
            time.sleep(STEP_S)
    except (subprocess.CalledProcessError, psycopg.OperationalError, RuntimeError) as error:
        sys.exit(f"The cluster has to end: {error}")
    finally:
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)
        cluster.stop()


if __name__ == "__main__":
    main()
