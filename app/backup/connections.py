"""Connections for a consistent read of the database, and for one write transaction, without timeouts."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import sqlalchemy as sa

from app.database import engines
from app.database.sqlite import READING

_REFERENCES = """
SELECT conrelid::regclass::text, quote_ident(conname), pg_get_constraintdef(oid) FROM pg_constraint
WHERE contype = 'f' AND connamespace = current_schema()::regnamespace
    AND conrelid::regclass::text NOT LIKE 'procrastinate%'
"""


@contextmanager
def reading(url: sa.URL) -> Iterator[sa.Connection]:
    """Open one read transaction: REPEATABLE READ on PostgreSQL, a snapshot on SQLite. It does not block writers."""
    with _connected(url) as connection:
        if connection.dialect.name == "sqlite":
            connection.execution_options(**{READING: True})
            connection.exec_driver_sql("BEGIN")
        else:
            connection.execution_options(isolation_level="REPEATABLE READ", postgresql_readonly=True)
        yield connection
        connection.rollback()


@contextmanager
def writing(url: sa.URL) -> Iterator[sa.Connection]:
    """Open one write transaction."""
    with _connected(url) as connection, connection.begin():
        yield connection


@contextmanager
def write_deferred(url: sa.URL) -> Iterator[sa.Connection]:
    """Open one write transaction that checks foreign keys only at its end, so tables can be written in any order.

    Raises:
        IntegrityError: a row refers to a missing row.
    """
    with _connected(url) as connection:
        if connection.dialect.name == "sqlite":
            raw: Any = connection.connection.dbapi_connection
            raw.execute("PRAGMA foreign_keys = OFF")
        with connection.begin():
            restore_statements = _lift_references(connection)
            yield connection
            for statement in restore_statements:
                connection.exec_driver_sql(statement)
            _check_references(connection)


def _lift_references(connection: sa.Connection) -> list[str]:
    """Drop the foreign keys of PostgreSQL and return the statements that add them.

    The keys are not deferrable. Some keys form cycles, so the tables have no valid order.
    """
    if connection.dialect.name != "postgresql":
        return []
    rows = connection.exec_driver_sql(_REFERENCES, execution_options={"no_parameters": True}).all()
    for table, name, _ in rows:
        connection.exec_driver_sql(f"ALTER TABLE {table} DROP CONSTRAINT {name}")
    return [f"ALTER TABLE {table} ADD CONSTRAINT {name} {definition}" for table, name, definition in rows]


def _check_references(connection: sa.Connection) -> None:
    if connection.dialect.name == "sqlite":
        dangling = connection.exec_driver_sql("PRAGMA foreign_key_check").first()
        if dangling is not None:
            raise sa.exc.IntegrityError(
                "PRAGMA foreign_key_check", dangling, ValueError(f"{dangling[0]} refers to a missing row")
            )


@contextmanager
def _connected(url: sa.URL) -> Iterator[sa.Connection]:
    options = engines.engine_options(url.render_as_string(hide_password=False))
    engine = sa.create_engine(url, poolclass=sa.NullPool, connect_args=options["connect_args"])
    engines.prepare_engine(engine)
    with engine.connect() as connection:
        engines.disable_timeouts(connection)
        connection.commit()
        yield connection
    engine.dispose()
