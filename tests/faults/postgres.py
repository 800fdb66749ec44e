"""A separate PostgreSQL cluster that tests can stop, fill and make read-only."""

import os
import pwd
import shutil
import subprocess
import tempfile
from pathlib import Path
from types import TracebackType

import psycopg
import pytest

from tests.support.servers.ports import free_port

DATABASE = "galley"


def binaries() -> Path:
    """Return the folder of the server programs. Skip the test if it does not exist."""
    result = shutil.which("initdb")
    folders = [Path(result).parent] if result else sorted(Path("/usr/lib/postgresql").glob("*/bin"))
    if not folders:
        pytest.skip("there is no PostgreSQL server to start")
    return folders[-1]


class Cluster:
    """A cluster that runs inside a `with` block. `url` is the SQLAlchemy URL of an empty database."""

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
        """Return the URL of the database, with the port of a proxy if there is one."""
        return f"postgresql+psycopg://postgres@127.0.0.1:{port or self.port}/{DATABASE}"

    def start(self) -> None:
        """Start the server and wait until it responds."""
        options = f"-p {self.port} -c listen_addresses=127.0.0.1 -c unix_socket_directories={self.folder}"
        options += f" -c max_connections={self._connections} -c fsync=off"
        self._run("pg_ctl", "-D", self._data, "-w", "-l", str(self.folder / "log"), "-o", options, "start")

    def stop(self, how: str = "fast") -> None:
        """Stop the server. The mode `immediate` is a crash."""
        self._run("pg_ctl", "-D", self._data, "-w", "-m", how, "stop", check=False)

    def superuser(self, database: str = DATABASE) -> psycopg.Connection[tuple[object, ...]]:
        """Open a connection without a proxy."""
        return psycopg.connect(
            host="127.0.0.1", port=self.port, user="postgres", dbname=database, autocommit=True, connect_timeout=10
        )

    def read_only(self, *, yes: bool) -> None:
        """Refuse writes in all later transactions, as a standby does."""
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
