"""Engines of SQLAlchemy: pool sizes, time limits of PostgreSQL, the reading engine, and side connections."""

import math
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import sqlalchemy as sa
from sqlalchemy import event
from sqlalchemy.engine.interfaces import DBAPIConnection

from app.core.limits import StoreLimits
from app.database.sqlite import READING, begin_transaction, configure_connection, create_private_database

POOL_SIZE, POOL_MAX, POOL_TIMEOUT_S = 10, 10, StoreLimits.pool_timeout_s
PG_STATEMENT_MS = StoreLimits.statement_timeout_s * 1000
PG_LOCK_MS = StoreLimits.lock_timeout_s * 1000
PG_IDLE_MS = StoreLimits.idle_in_transaction_timeout_s * 1000
MAX_SIDE_CONNECTIONS, IDLE_SIDE_CONNECTIONS = 4, 1


def engine_options(
    url: str, *, pool_size: int = POOL_SIZE, pool_max: int = POOL_MAX, statement_ms: int = PG_STATEMENT_MS
) -> dict[str, object]:
    """Return the keyword arguments of `create_engine` for a database (limits.md, section 1).

    `pool_max` limits the connections to PostgreSQL. Up to `pool_size` unused connections stay open. Statement values
    are hidden because errors are logged and values may be secrets.
    """
    if sa.make_url(url).get_backend_name() == "sqlite":
        return {
            "connect_args": {"timeout": 0, "check_same_thread": False},
            "pool_size": pool_size,
            "max_overflow": 50,
            "pool_timeout": POOL_TIMEOUT_S,
            "hide_parameters": True,
        }
    limits = (
        f"-c statement_timeout={statement_ms} -c lock_timeout={PG_LOCK_MS}"
        f" -c idle_in_transaction_session_timeout={max(PG_IDLE_MS, statement_ms)}"
    )
    return {
        "connect_args": {"options": limits, "connect_timeout": POOL_TIMEOUT_S},
        "pool_size": min(pool_size, pool_max),
        "max_overflow": pool_max - min(pool_size, pool_max),
        "pool_timeout": POOL_TIMEOUT_S,
        "hide_parameters": True,
    }


def reading_options(engine: sa.Engine) -> dict[str, object]:
    """Return the execution options of a connection that reads without a transaction."""
    options: dict[str, object] = {READING: True}
    if engine.dialect.name == "postgresql":
        options["isolation_level"] = "AUTOCOMMIT"
    return options


def reading_engine(url: str, writing: sa.Engine, *, pool_size: int = POOL_SIZE, pool_max: int = POOL_MAX) -> sa.Engine:
    """Return a second engine whose connections run each statement in autocommit mode.

    It has a separate pool, so that connections do not change their mode. Disposing of `writing` disposes of both.
    """
    options = engine_options(url, pool_size=pool_size, pool_max=pool_max)
    if writing.dialect.name == "postgresql":
        options |= {"isolation_level": "AUTOCOMMIT", "skip_autocommit_rollback": True, "pool_reset_on_return": None}
    engine = sa.create_engine(url, **options)
    if engine.dialect.name == "sqlite":
        event.listen(engine, "do_connect", create_private_database)
        event.listen(engine, "connect", configure_connection)
    else:
        event.listen(engine, "do_connect", _connect_with_timeout)
    event.listen(writing, "engine_disposed", lambda _writing: engine.dispose())
    return engine


def prepare_engine(engine: sa.Engine) -> None:
    """Attach the SQLite listeners or the response timeout of PostgreSQL to an engine."""
    if engine.dialect.name == "sqlite" and not event.contains(engine, "connect", configure_connection):
        event.listen(engine, "do_connect", create_private_database)
        event.listen(engine, "connect", configure_connection)
        event.listen(engine, "begin", begin_transaction)
    elif engine.dialect.name == "postgresql" and not event.contains(engine, "do_connect", _connect_with_timeout):
        event.listen(engine, "do_connect", _connect_with_timeout)


def disable_timeouts(connection: sa.Connection) -> None:
    """Remove the statement and response timeouts of a connection that does not return to a pool.

    The lock timeout stays.
    """
    if connection.dialect.name == "postgresql":
        for limit in ("statement_timeout", "idle_in_transaction_session_timeout"):
            connection.exec_driver_sql(f"SET {limit} = 0")
        raw: Any = connection.connection.dbapi_connection
        raw.response_timeout_s = math.inf


def _connect_with_timeout(
    _dialect: sa.Dialect, _record: object, arguments: Any, options: dict[str, Any]
) -> DBAPIConnection:
    from app.database.postgres_timeouts import TimeoutConnection

    connection: Any = TimeoutConnection.connect(*arguments, **options)
    return connection  # type: ignore[no-any-return]


class SideConnections:
    """A bounded pool of connections outside the pools of the session. Safe in any thread.

    A thread that takes a second connection from the pool it already uses can deadlock. Code that holds a side
    connection takes no other connection.
    """

    def __init__(self, url: sa.URL, *, max_connections: int = MAX_SIDE_CONNECTIONS) -> None:
        text = url.render_as_string(hide_password=False)
        options = engine_options(text, pool_size=IDLE_SIDE_CONNECTIONS, pool_max=max_connections)
        self.engine = sa.create_engine(url, **options, pool_pre_ping=True)
        self._slots = threading.BoundedSemaphore(max_connections)
        prepare_engine(self.engine)

    @contextmanager
    def read(self) -> Iterator[sa.Connection]:
        """Provide a connection without a transaction."""
        with self._slots, self.engine.connect() as connection:
            yield connection.execution_options(**reading_options(self.engine))

    @contextmanager
    def write(self) -> Iterator[sa.Connection]:
        """Provide a connection with one short transaction. Commit it at the end of the block."""
        with self._slots, self.engine.begin() as connection:
            yield connection

    def dispose(self) -> None:
        """Close the unused connections."""
        self.engine.dispose()
