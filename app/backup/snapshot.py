"""Connections that see a whole database as of one moment, or write all of it in one transaction, without time limits."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import sqlalchemy as sa

from app.core import database


@contextmanager
def reading(url: sa.URL) -> Iterator[sa.Connection]:
    """One read transaction: REPEATABLE READ on PostgreSQL, a read snapshot of the log on SQLite; writers go on."""
    with _connected(url) as connection:
        if connection.dialect.name == "sqlite":
            connection.execution_options(**{database.READING: True})
            connection.exec_driver_sql("BEGIN")
        else:
            connection.execution_options(isolation_level="REPEATABLE READ", postgresql_readonly=True)
        yield connection
        connection.rollback()


@contextmanager
def writing(url: sa.URL) -> Iterator[sa.Connection]:
    """One write transaction: all of it or nothing."""
    with _connected(url) as connection, connection.begin():
        yield connection


@contextmanager
def filling(url: sa.URL) -> Iterator[sa.Connection]:
    """The same, for tables in any order: references between rows are checked at its end only.

    Raises:
        IntegrityError: at the end, when a row refers to none.
    """
    with _connected(url) as connection:
        if connection.dialect.name == "sqlite":
            raw: Any = connection.connection.dbapi_connection
            raw.execute("PRAGMA foreign_keys = OFF")
        with connection.begin():
            put_back = _lift_references(connection)
            yield connection
            for statement in put_back:
                connection.exec_driver_sql(statement)
            _check_references(connection)


_REFERENCES = """
SELECT conrelid::regclass::text, quote_ident(conname), pg_get_constraintdef(oid) FROM pg_constraint
WHERE contype = 'f' AND connamespace = current_schema()::regnamespace AND conrelid::regclass::text NOT LIKE 'procrastinate%'
"""


def _lift_references(connection: sa.Connection) -> list[str]:
    """Drop PostgreSQL's foreign keys, which can neither wait nor be sorted where they go round; how to add them again."""
    if connection.dialect.name != "postgresql":
        return []
    found = connection.exec_driver_sql(_REFERENCES, execution_options={"no_parameters": True}).all()
    for table, name, _ in found:
        connection.exec_driver_sql(f"ALTER TABLE {table} DROP CONSTRAINT {name}")
    return [f"ALTER TABLE {table} ADD CONSTRAINT {name} {definition}" for table, name, definition in found]


def _check_references(connection: sa.Connection) -> None:
    if connection.dialect.name == "sqlite":
        dangling = connection.exec_driver_sql("PRAGMA foreign_key_check").first()
        if dangling is not None:
            raise sa.exc.IntegrityError(
                "PRAGMA foreign_key_check", dangling, ValueError(f"{dangling[0]} refers to nothing")
            )


@contextmanager
def _connected(url: sa.URL) -> Iterator[sa.Connection]:
    options = database.engine_options(url.render_as_string(hide_password=False))
    engine = sa.create_engine(url, poolclass=sa.NullPool, connect_args=options["connect_args"])
    database.prepare_engine(engine)
    with engine.connect() as connection:
        database.take_time(connection)
        connection.commit()
        yield connection
    engine.dispose()
