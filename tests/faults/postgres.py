"""A PostgreSQL cluster of one's own, which may be stopped, filled and made read-only without anybody else noticing."""

import os
import pwd
import shutil
import subprocess
import tempfile
from pathlib import Path
from types import TracebackType

import psycopg
import pytest

from tests.servers.ports import free_port

DATABASE = "galley"


def binaries() -> Path:
    """Where the server's programs are; without them the test is skipped."""
    found = shutil.which("initdb")
    folders = [Path(found).parent] if found else sorted(Path("/usr/lib/postgresql").glob("*/bin"))
    if not folders:
        pytest.skip("there is no PostgreSQL server to start")
    return folders[-1]


class Cluster:
    """Runs for the length of a `with`; `url` is that of an empty database in it, as SQLAlchemy reads it."""

    def __init__(self, *, connections: int = 60) -> None:
        self.port, self._connections, self._bin = free_port(), connections, binaries()

    def __enter__(self) -> "Cluster":
        self.folder = Path(tempfile.mkdtemp(prefix="galley-postgres-"))
        self._user = "postgres" if os.geteuid() == 0 else pwd.getpwuid(os.geteuid()).pw_name
        shutil.chown(self.folder, self._user)
        self._run("initdb", "-D", self._data, "-A", "trust", "-U", "postgres", "--no-sync")
        self.start()
        with self.superuser("postgres") as connection:
            connection.execute(f"CREATE DATABASE {DATABASE}")
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.stop("immediate")
        shutil.rmtree(self.folder, ignore_errors=True)

    def url(self, port: int | None = None) -> str:
        """Where the database is; behind `port` when a proxy stands there."""
        return f"postgresql+psycopg://postgres@127.0.0.1:{port or self.port}/{DATABASE}"

    def start(self) -> None:
        """Start, and wait until it answers."""
        options = f"-p {self.port} -c listen_addresses=127.0.0.1 -c unix_socket_directories={self.folder}"
        options += f" -c max_connections={self._connections} -c fsync=off"
        self._run("pg_ctl", "-D", self._data, "-w", "-l", str(self.folder / "log"), "-o", options, "start")

    def stop(self, how: str = "fast") -> None:
        """Stop; `immediate` is a crash."""
        self._run("pg_ctl", "-D", self._data, "-w", "-m", how, "stop", check=False)

    def superuser(self, database: str = DATABASE) -> psycopg.Connection[tuple[object, ...]]:
        """A connection past any proxy."""
        return psycopg.connect(
            host="127.0.0.1", port=self.port, user="postgres", dbname=database, autocommit=True, connect_timeout=10
        )

    def read_only(self, *, yes: bool) -> None:
        """Refuse writes in every transaction to come, as a standby does."""
        with self.superuser() as connection:
            connection.execute(f"ALTER SYSTEM SET default_transaction_read_only = {'on' if yes else 'off'}")
            connection.execute("SELECT pg_reload_conf()")

    @property
    def _data(self) -> str:
        return str(self.folder / "data")

    def _run(self, program: str, *arguments: str, check: bool = True) -> None:
        become = ["runuser", "-u", self._user, "--"] if os.geteuid() == 0 else []
        done = subprocess.run(
            [*become, str(self._bin / program), *arguments],
            cwd=self.folder, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        assert done.returncode == 0 or not check, f"{program} failed"
