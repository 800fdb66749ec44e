"""Many rows at once: COPY on PostgreSQL, one prepared statement on SQLite. Knows no particular table."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, TypeVar

import sqlalchemy as sa

T = TypeVar("T")


def insert(connection: sa.Connection, table: sa.Table, columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """Insert rows whose values are already what the store keeps (no Python-side defaults or conversions).

    `rows` must not touch the session: during a COPY the connection answers nothing else.
    """
    raw: Any = connection.connection.cursor()
    names = ", ".join(columns)
    try:
        if connection.dialect.name == "postgresql":
            with raw.copy(f"COPY {table.name} ({names}) FROM STDIN") as copy:
                for row in rows:
                    copy.write_row(row)
        else:
            marks = ", ".join("?" * len(columns))
            raw.executemany(f"INSERT INTO {table.name} ({names}) VALUES ({marks})", rows)  # noqa: S608 (our names)
    finally:
        raw.close()


def take_stock(connection: sa.Connection, table: sa.Table, columns: Sequence[str]) -> None:
    """Tell PostgreSQL how large a table has grown; SQLite plans well without.

    Otherwise it keeps plans from when the table was small, and looks through all of it for every few rows.
    """
    if connection.dialect.name == "postgresql":
        connection.exec_driver_sql(f"ANALYZE {table.name} ({', '.join(columns)})")


def batches(items: Iterable[T], size: int) -> Iterator[list[T]]:
    """Lists of at most `size` items, in order, taken only as they are asked for."""
    iterator = iter(items)
    while batch := list(islice(iterator, size)):
        yield batch
