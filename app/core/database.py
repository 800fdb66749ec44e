"""How database connections behave: SQLite in WAL with its own BEGIN IMMEDIATE, PostgreSQL with time limits.

Knows no tables. Waiting is done with `time.sleep`, which is cooperative in the monkey-patched web process; SQLite's own
busy handler would freeze every greenlet of the worker instead.
"""

import random
import sqlite3
import time
from typing import Any

import sqlalchemy as sa
from sqlalchemy import event
from sqlalchemy.engine.interfaces import DBAPIConnection

from app.core.errors import Unavailable

READING = "galley_reading"
"""Execution option of a connection that only reads: no transaction is opened on either store."""

WRITE_LOCK_WAIT_S = 3.0
POOL_WAIT_S = 2
PG_STATEMENT_MS, PG_LOCK_MS, PG_IDLE_MS = 5_000, 2_000, 10_000


def engine_options(url: str, *, pool_size: int = 10, statement_ms: int = PG_STATEMENT_MS) -> dict[str, Any]:
    """What `create_engine` needs for that store (limits, section 1: Stores)."""
    if sa.make_url(url).get_backend_name() == "sqlite":
        return {
            "connect_args": {"timeout": 0, "check_same_thread": False},
            "pool_size": pool_size,
            "max_overflow": 50,
            "pool_timeout": POOL_WAIT_S,
        }
    limits = (
        f"-c statement_timeout={statement_ms} -c lock_timeout={PG_LOCK_MS}"
        f" -c idle_in_transaction_session_timeout={max(PG_IDLE_MS, statement_ms)}"
    )
    return {
        "connect_args": {"options": limits, "connect_timeout": POOL_WAIT_S},
        "pool_size": pool_size,
        "max_overflow": pool_size,
        "pool_timeout": POOL_WAIT_S,
    }


def reading_options(engine: sa.Engine) -> dict[str, Any]:
    """Execution options for a connection that reads without a transaction."""
    options: dict[str, Any] = {READING: True}
    if engine.dialect.name == "postgresql":
        options["isolation_level"] = "AUTOCOMMIT"
    return options


def prepare_engine(engine: sa.Engine) -> None:
    """Attach the SQLite behaviour to an engine; PostgreSQL needs none."""
    if engine.dialect.name == "sqlite" and not event.contains(engine, "connect", _on_connect):
        event.listen(engine, "connect", _on_connect)
        event.listen(engine, "begin", _on_begin)


def _on_connect(connection: DBAPIConnection, _record: object) -> None:
    # The driver must not open transactions by itself: BEGIN is ours.
    connection.isolation_level = None
    cursor = connection.cursor()
    for pragma in ("busy_timeout = 1000", "journal_mode = WAL", "synchronous = NORMAL", "foreign_keys = ON"):
        cursor.execute(f"PRAGMA {pragma}")
    # Only switching a new file to WAL may wait inside SQLite; from here on waiting is cooperative.
    cursor.execute("PRAGMA busy_timeout = 0")
    cursor.close()


def _on_begin(connection: sa.Connection) -> None:
    if not connection.get_execution_options().get(READING):
        raw: Any = connection.connection.dbapi_connection
        begin_immediate(raw)


def begin_immediate(connection: sqlite3.Connection, wait_s: float = WRITE_LOCK_WAIT_S) -> None:
    """Take SQLite's write lock, waiting cooperatively.

    Raises:
        Unavailable: another writer kept it for longer than `wait_s`.
    """
    deadline, pause_s = time.monotonic() + wait_s, 0.001
    while True:
        try:
            connection.execute("BEGIN IMMEDIATE")
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) and "busy" not in str(error):
                raise
            if time.monotonic() > deadline:
                raise Unavailable("The database is busy; try again shortly") from error
            time.sleep(pause_s * (0.5 + random.random()))  # noqa: S311 (jitter)
            pause_s = min(pause_s * 1.6, 0.05)
        else:
            return
