"""How database connections behave: SQLite in WAL with its own BEGIN IMMEDIATE, PostgreSQL with time limits.

Knows no tables. Waiting is done with `time.sleep`, which is cooperative in the monkey-patched web process; SQLite's own
busy handler would freeze every greenlet of the worker instead.
"""

import math
import random
import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import sqlalchemy as sa
from sqlalchemy import event
from sqlalchemy.engine.interfaces import DBAPIConnection

from app.core.errors import Unavailable

READING = "galley_reading"
"""Execution option of a connection that only reads: no transaction is opened on either store."""

WRITE_LOCK_WAIT_S = 3.0
POOL_SIZE, POOL_MOST, POOL_WAIT_S = 10, 20, 2
PG_STATEMENT_MS, PG_LOCK_MS, PG_IDLE_MS = 5_000, 2_000, 10_000

PASSING = ("08", "25", "40", "53", "55", "57", "58")
"""Classes of PostgreSQL's error codes that speak of its state: connection, read-only, deadlock, full, locked, stopping."""


def engine_options(
    url: str, *, kept: int = POOL_SIZE, most: int = POOL_MOST, statement_ms: int = PG_STATEMENT_MS
) -> dict[str, Any]:
    """What `create_engine` needs for that store (limits, section 1: Stores).

    Of PostgreSQL at most `most` connections are taken; `kept` of them stay open unused.

    Values of statements are hidden, since errors are logged and values may be secrets.
    """
    if sa.make_url(url).get_backend_name() == "sqlite":
        return {
            "connect_args": {"timeout": 0, "check_same_thread": False},
            "pool_size": kept,
            "max_overflow": 50,
            "pool_timeout": POOL_WAIT_S,
            "hide_parameters": True,
        }
    limits = (
        f"-c statement_timeout={statement_ms} -c lock_timeout={PG_LOCK_MS}"
        f" -c idle_in_transaction_session_timeout={max(PG_IDLE_MS, statement_ms)}"
    )
    return {
        "connect_args": {"options": limits, "connect_timeout": POOL_WAIT_S},
        "pool_size": min(kept, most),
        "max_overflow": most - min(kept, most),
        "pool_timeout": POOL_WAIT_S,
        "hide_parameters": True,
    }


def reading_options(engine: sa.Engine) -> dict[str, Any]:
    """Execution options for a connection that reads without a transaction."""
    options: dict[str, Any] = {READING: True}
    if engine.dialect.name == "postgresql":
        options["isolation_level"] = "AUTOCOMMIT"
    return options


def reading_engine(url: str, writing: sa.Engine, *, kept: int = POOL_SIZE, most: int = POOL_MOST) -> sa.Engine:
    """A second engine whose connections never open a transaction: each statement stands by itself.

    It has a pool of its own, so that connections need not be switched to and fro; disposing of `writing` empties both.
    """
    options = engine_options(url, kept=kept, most=most)
    if writing.dialect.name == "postgresql":
        options |= {"isolation_level": "AUTOCOMMIT", "skip_autocommit_rollback": True, "pool_reset_on_return": None}
    engine = sa.create_engine(url, **options)
    if engine.dialect.name == "sqlite":
        event.listen(engine, "connect", _on_connect)
    else:
        event.listen(engine, "do_connect", _connect_impatiently)
    event.listen(writing, "engine_disposed", lambda _writing: engine.dispose())
    return engine


def prepare_engine(engine: sa.Engine) -> None:
    """Attach the SQLite behaviour to an engine, or a limit on waiting for PostgreSQL."""
    if engine.dialect.name == "sqlite" and not event.contains(engine, "connect", _on_connect):
        event.listen(engine, "connect", _on_connect)
        event.listen(engine, "begin", _on_begin)
    elif engine.dialect.name == "postgresql" and not event.contains(engine, "do_connect", _connect_impatiently):
        event.listen(engine, "do_connect", _connect_impatiently)


def told(error: sa.exc.DBAPIError) -> str:
    """The first line of the driver's own words: neither the statement nor its values."""
    return (str(error.orig).strip() or type(error).__name__).splitlines()[0]


def lacks_schema(error: sa.exc.DBAPIError) -> bool:
    """Whether a statement named a table or column that the database does not have."""
    absent = ("no such table", "no such column")
    return getattr(error.orig, "sqlstate", None) in ("42P01", "42703") or told(error).startswith(absent)


def is_passing(error: Exception) -> bool:
    """Whether the database cannot be asked now, and may be later; a fault of the statement itself is a bug."""
    if isinstance(error, sa.exc.OperationalError | sa.exc.InterfaceError | sa.exc.TimeoutError):
        return True
    state = str(getattr(getattr(error, "orig", None), "sqlstate", None) or "")
    return state.startswith(PASSING) or bool(getattr(error, "connection_invalidated", False))


def take_time(connection: sa.Connection) -> None:
    """Let statements of this connection work for as long as they take; for one that goes into no pool again.

    What waits for a lock of somebody else's is still given up.
    """
    if connection.dialect.name == "postgresql":
        for limit in ("statement_timeout", "idle_in_transaction_session_timeout"):
            connection.exec_driver_sql(f"SET {limit} = 0")
        raw: Any = connection.connection.dbapi_connection
        raw.answer_s = math.inf


def _connect_impatiently(_dialect: sa.Dialect, _record: object, given: Any, options: dict[str, Any]) -> DBAPIConnection:
    from app.core.answering import Impatient

    connection: Any = Impatient.connect(*given, **options)
    return connection  # type: ignore[no-any-return]


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


class Aside:
    """A few connections beside the pool, each opened for one use: for threads whose session may hold one already.

    Whoever takes a second connection from the same pool while holding a first can wait for others who do the same.
    """

    def __init__(self, url: sa.URL, *, at_once: int = 4) -> None:
        options = engine_options(url.render_as_string(hide_password=False))
        self._engine = sa.create_engine(
            url, poolclass=sa.NullPool, connect_args=options["connect_args"], hide_parameters=True
        )
        self._room = threading.BoundedSemaphore(at_once)
        prepare_engine(self._engine)

    @contextmanager
    def reading(self) -> Iterator[sa.Connection]:
        """A connection that only reads, without a transaction."""
        with self._room, self._engine.connect() as connection:
            yield connection.execution_options(**reading_options(self._engine))

    @contextmanager
    def writing(self) -> Iterator[sa.Connection]:
        """One short transaction, committed at its end."""
        with self._room, self._engine.begin() as connection:
            yield connection
