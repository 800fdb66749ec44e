"""The application's tables as they are in a database at any revision, and their rows as JSON lines alike on both stores.

Columns stand in the order of their names. JSON columns are kept as their text, so that a row comes back as it was.
"""

import base64
import datetime as dt
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import orjson
import sqlalchemy as sa

from app.drivers.jobs.port import JobEngine
from app.models import bulk
from app.models.base import Base, UtcDateTime
from app.models.content_search import is_of_search

ALEMBIC = "alembic_version"
AT_ONCE = 1000


def tables_of(connection: sa.Connection, jobs: JobEngine) -> list[sa.Table]:
    """Every table but Alembic's, the job engine's and full-text search's, by name."""
    names = [
        name
        for name in sa.inspect(connection).get_table_names()
        if name != ALEMBIC and not jobs.owns_table(name) and not is_of_search("table", name)
    ]
    found = sa.MetaData()
    found.reflect(connection, only=names)
    ours = [found.tables[name] for name in sorted(names)]
    for table in ours:
        known = Base.metadata.tables.get(table.name)
        for column in table.columns:
            if known is not None and column.name in known.columns:
                column.type = known.columns[column.name].type
    return ours


def columns_of(table: sa.Table) -> list[sa.Column[Any]]:
    """The columns in the order in which a line has them."""
    return sorted(table.columns, key=lambda column: column.name)


def lines_of(
    connection: sa.Connection, table: sa.Table, seen: Callable[[str, Any], None] | None = None
) -> Iterator[bytes]:
    """The rows as lines, read in pieces; `seen` is shown each value of a column that holds sealed secrets."""
    columns = columns_of(table)
    sealed = [place for place, column in enumerate(columns) if column.name.endswith("_secret")] if seen else []
    wanted = sa.select(*map(_read, columns)).execution_options(stream_results=True, yield_per=AT_ONCE)
    for row in connection.execute(wanted):
        for place in sealed:
            seen(columns[place].name, row[place])  # type: ignore[misc]
        yield orjson.dumps(list(row), default=_packed)


def fill(connection: sa.Connection, table: sa.Table, lines: Iterable[bytes]) -> None:
    """Insert rows from lines."""
    columns = columns_of(table)
    convert = [_writer(column, connection.dialect) for column in columns]
    quote = connection.dialect.identifier_preparer.quote
    rows = (
        [None if value is None else take(value) for take, value in zip(convert, orjson.loads(line), strict=True)]
        for line in lines
    )
    bulk.insert(connection, table, [quote(column.name) for column in columns], rows)


def set_sequences(connection: sa.Connection, tables: Iterable[sa.Table]) -> None:
    """Let PostgreSQL count on from the highest number that was put back; SQLite does by itself."""
    if connection.dialect.name != "postgresql":
        return
    for table in tables:
        for column in table.primary_key:
            which = sa.func.pg_get_serial_sequence(table.name, column.name)
            if connection.scalar(sa.select(which)) is not None:
                highest = sa.select(sa.func.greatest(sa.func.max(column), 1)).scalar_subquery()
                connection.execute(sa.select(sa.func.setval(which, highest)))


def first_filled(connection: sa.Connection, tables: Iterable[sa.Table]) -> str | None:
    """The name of a table that holds a row; None where all are empty."""
    for table in tables:
        if connection.execute(sa.select(sa.literal(1)).select_from(table).limit(1)).first() is not None:
            return table.name
    return None


def _read(column: sa.Column[Any]) -> Any:
    return sa.cast(column, sa.Text) if isinstance(column.type, sa.JSON) else column


def _writer(column: sa.Column[Any], dialect: sa.Dialect) -> Callable[[Any], Any]:
    kind: Any = column.type
    if isinstance(kind, UtcDateTime | sa.DateTime):
        bind = kind.dialect_impl(dialect).bind_processor(dialect)
        return lambda text: _bound(bind, dt.datetime.fromisoformat(text))
    if isinstance(kind, sa.Date):
        bind_date = kind.dialect_impl(dialect).bind_processor(dialect)
        return lambda text: _bound(bind_date, dt.date.fromisoformat(text))
    if isinstance(kind, sa.LargeBinary):
        return lambda packed: base64.b64decode(packed["base64"])
    return lambda value: value


def _bound(bind: Callable[[Any], Any] | None, value: Any) -> Any:
    return value if bind is None else bind(value)


def _packed(value: Any) -> Any:
    if isinstance(value, bytes | memoryview):
        return {"base64": base64.b64encode(bytes(value)).decode()}
    raise TypeError(f"a backup cannot hold a {type(value).__name__}")
