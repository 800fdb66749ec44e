"""SQLite connections: WAL mode, explicit transactions and a write lock that is awaited cooperatively."""

import os
import random
import sqlite3
import time
from contextlib import suppress
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine.interfaces import DBAPIConnection

READING = "galley_reading"
"""Execution option of a connection that only reads and opens no transaction."""

WRITE_LOCK_WAIT_S = 3.0
MAX_PAUSE_S = 0.075
"""The longest time between two attempts of a waiting writer."""
OWNER_ONLY = 0o600


def configure_connection(connection: DBAPIConnection, _record: object) -> None:
    """Set the pragmas of a new connection. Listener of the `connect` event."""
    # The sqlite3 module must not open transactions: `begin_transaction` does it.
    connection.isolation_level = None
    cursor = connection.cursor()
    for pragma in ("busy_timeout = 1000", "journal_mode = WAL", "synchronous = NORMAL", "foreign_keys = ON"):
        cursor.execute(f"PRAGMA {pragma}")
    # SQLite's busy handler blocks the event loop. It is needed only while a new file is switched to WAL.
    cursor.execute("PRAGMA busy_timeout = 0")
    cursor.close()


def create_private_database(_dialect: sa.Dialect, _record: object, arguments: Any, _options: dict[str, object]) -> None:
    """Create the file of a database before SQLite does, so that only its owner can read it. Listener of `do_connect`.

    SQLite creates the files `-wal` and `-shm` with the permissions of the database.
    """
    name = str(arguments[0]) if arguments else ""
    if name and name != ":memory:" and not name.startswith("file:"):
        with suppress(OSError):  # It exists, or SQLite reports why it cannot be created.
            os.close(os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, OWNER_ONLY))


def begin_transaction(connection: sa.Connection) -> None:
    """Open a write transaction unless the connection only reads. Listener of the `begin` event."""
    if not connection.get_execution_options().get(READING):
        raw: Any = connection.connection.dbapi_connection
        begin_immediate(raw)


def begin_immediate(connection: sqlite3.Connection, wait_s: float = WRITE_LOCK_WAIT_S) -> None:
    """Take the write lock of SQLite. Wait with `time.sleep`, which yields to other greenlets.

    Raises:
        OperationalError: another writer held the lock for longer than `wait_s`.
    """
    deadline, pause_s = time.monotonic() + wait_s, 0.001
    while True:
        try:
            connection.execute("BEGIN IMMEDIATE")
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) and "busy" not in str(error):
                raise
            if time.monotonic() > deadline:
                raise sa.exc.OperationalError("BEGIN IMMEDIATE", None, error) from error
            time.sleep(pause_s * (0.5 + random.random()))  # noqa: S311 (jitter)
            pause_s = min(pause_s * 1.6, MAX_PAUSE_S / 1.5)
        else:
            return
