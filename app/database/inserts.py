"""Bulk inserts and statements `INSERT … ON CONFLICT`, for PostgreSQL and SQLite."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import islice
from typing import Any, TypeVar

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.sql.dml import Insert

T = TypeVar("T")


def insert(
    connection: sa.Connection, table: sa.Table, columns: Sequence[str], rows: Iterable[Sequence[object]]
) -> None:
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
    """Update the statistics of PostgreSQL for a table that has grown.

    With old statistics PostgreSQL uses plans for a small table and scans the whole table for a few rows.
    """
    connection.exec_driver_sql(f"ANALYZE {table.name} ({', '.join(columns)})")


def estimated_rows(connection: sa.Connection, tables: Sequence[str]) -> float:
    """Return the number of rows of the smallest table as PostgreSQL last estimated it. A new table has none."""
    statement: sa.Select[Any] = sa.select(sa.func.min(sa.column("reltuples"))).select_from(sa.table("pg_class"))
    estimate = connection.scalar(statement.where(sa.column("oid").in_([sa.func.to_regclass(name) for name in tables])))
    return max(float(estimate or 0), 0.0)


def batches(items: Iterable[T], size: int) -> Iterator[list[T]]:
    """Yield lists of at most `size` items, in order. Items are consumed lazily."""
    iterator = iter(items)
    while batch := list(islice(iterator, size)):
        yield batch


def insert_or_ignore(dialect: str, table: object, values: Mapping[str, object], *, unique: Sequence[str]) -> Insert:
    """Return a statement that inserts a row unless a row with the same `unique` columns exists."""
    statement: Insert = _insert(dialect, table).values(**values).on_conflict_do_nothing(index_elements=list(unique))
    return statement


def insert_or_update(
    dialect: str, table: object, values: Mapping[str, object], *, unique: Sequence[str], changes: Mapping[str, object]
) -> Insert:
    """Return a statement that inserts a row, or applies `changes` to the row with the same `unique` columns."""
    insert = _insert(dialect, table).values(**values)
    statement: Insert = insert.on_conflict_do_update(index_elements=list(unique), set_=dict(changes))
    return statement


def insert_rows(
    connection: sa.Connection,
    table: sa.Table,
    rows: Sequence[Mapping[str, object]],
    *,
    unique: tuple[str, ...],
    changed: tuple[str, ...] = (),
) -> None:
    """Insert each row, or update the `changed` columns of the row with the same `unique` columns.

    The rows have the same columns, with values for all that have a default in Python. PostgreSQL receives one statement
    with an array for each column: its driver would wait for a response for each row.
    """
    dialect, names = connection.dialect.name, tuple(rows[0])
    statement = _rows_statement(dialect, table, names, unique, changed)
    is_columns = dialect == "postgresql"
    connection.execute(statement, {name: [row[name] for row in rows] for name in names} if is_columns else list(rows))


@cache
def _rows_statement(
    dialect: str, table: sa.Table, names: tuple[str, ...], unique: tuple[str, ...], changed: tuple[str, ...]
) -> Insert:
    """Return a statement for any number of rows. Its construction costs more than the insert of a row."""
    insert = _insert(dialect, table)
    if dialect == "postgresql":
        arrays = (sa.bindparam(name, type_=postgresql.ARRAY(table.c[name].type)) for name in names)
        insert = insert.from_select(names, sa.select(*map(sa.func.unnest, arrays)), include_defaults=False)
    updates = {name: insert.excluded[name] for name in changed}
    conflict = {"index_elements": list(unique)}
    statement: Insert = (
        insert.on_conflict_do_update(**conflict, set_=updates) if updates else insert.on_conflict_do_nothing(**conflict)
    )
    return statement


def _insert(dialect: str, table: Any) -> Any:
    return postgresql.insert(table) if dialect == "postgresql" else sqlite.insert(table)
