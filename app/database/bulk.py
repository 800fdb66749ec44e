"""Bulk inserts: COPY on PostgreSQL, one prepared statement on SQLite."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, TypeVar

import sqlalchemy as sa

T = TypeVar("T")


def insert(connection: sa.Connection, table: sa.Table, columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """Insert rows of database values. Python-side defaults and conversions do not apply.

    `rows` must not use the session: a connection cannot execute other statements during a COPY.

    Raises:
        sqlalchemy.exc.DBAPIError: an error of the driver, as for other statements.
    """
    raw: Any = connection.connection.cursor()
    names = ", ".join(columns)
    dialect = connection.dialect
    try:
        if dialect.name == "postgresql":
            with raw.copy(f"COPY {table.name} ({names}) FROM STDIN") as copy:
                for row in rows:
                    copy.write_row(row)
        else:
            marks = ", ".join("?" * len(columns))
            # The names are those of our tables and columns.
            raw.executemany(f"INSERT INTO {table.name} ({names}) VALUES ({marks})", rows)  # noqa: S608
    except dialect.loaded_dbapi.Error as error:
        raise sa.exc.DBAPIError.instance(None, None, error, dialect.loaded_dbapi.Error, dialect=dialect) from error
    finally:
        raw.close()


def analyze(connection: sa.Connection, table: sa.Table, columns: Sequence[str]) -> None:
    """Update the statistics of PostgreSQL for a table that has grown. SQLite does not need this.

    With old statistics PostgreSQL uses plans for a small table and scans the whole table for a few rows.
    """
    if connection.dialect.name == "postgresql":
        connection.exec_driver_sql(f"ANALYZE {table.name} ({', '.join(columns)})")


def batches(items: Iterable[T], size: int) -> Iterator[list[T]]:
    """Yield lists of at most `size` items, in order. Items are consumed lazily."""
    iterator = iter(items)
    while batch := list(islice(iterator, size)):
        yield batch
