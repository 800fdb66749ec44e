"""Tables of the application in a database of any revision, and their rows as JSON lines.

The lines are equal for both databases. Columns are sorted by name. JSON columns are stored as text, so that a restored
row equals the saved one.
"""

import base64
import datetime as dt
import warnings
from collections.abc import Callable, Iterable, Iterator
from datetime import timedelta
from typing import Any

import orjson
import sqlalchemy as sa

from app.core.jobs import JobCall
from app.database import inserts
from app.drivers.jobs.port import JobEngine
from app.models.base import Base, UtcDateTime
from app.models.content_search import is_search_table
from app.models.sandbox import MarkRange
from app.models.site_build import SiteBuild, SiteBuildFile

ALEMBIC = "alembic_version"
WITHOUT_ROWS = frozenset(model.__tablename__ for model in (MarkRange, SiteBuild, SiteBuildFile))
"""Tables whose rows are not saved: a commit can be built again, and a preview be started again."""
BATCH_SIZE, BINARY_BATCH_SIZE = 1000, 8
"""The rows that are held in memory. A row with binary values can have 20 MiB."""


def tables_of(connection: sa.Connection, jobs: JobEngine) -> list[sa.Table]:
    """Return the tables by name, without those of Alembic, of the job engine and of the full-text search."""
    names = [
        name
        for name in sa.inspect(connection).get_table_names()
        if name != ALEMBIC and not jobs.owns_table(name) and not is_search_table("table", name)
    ]
    metadata = sa.MetaData()
    with warnings.catch_warnings():
        # SQLAlchemy cannot read indexes of expressions from SQLite. A backup does not contain indexes.
        warnings.filterwarnings("ignore", "Skipped unsupported reflection of expression-based index")
        metadata.reflect(connection, only=names)
    tables = [metadata.tables[name] for name in sorted(names)]
    for table in tables:
        model = Base.metadata.tables.get(table.name)
        for column in table.columns:
            if model is not None and column.name in model.columns:
                column.type = model.columns[column.name].type
    return tables


def columns_of(table: sa.Table) -> list[sa.Column[object]]:
    """Return the columns in the order of a line."""
    return sorted(table.columns, key=lambda column: column.name)


def lines_of(
    connection: sa.Connection, table: sa.Table, observe: Callable[[str, object], None] | None = None
) -> Iterator[bytes]:
    """Yield the rows as lines, in batches. `observe` receives each value of a column with encrypted secrets."""
    if table.name in WITHOUT_ROWS:
        return
    columns = columns_of(table)
    secret_indexes = (
        [index for index, column in enumerate(columns) if column.name.endswith("_secret")] if observe else []
    )
    size = BINARY_BATCH_SIZE if any(isinstance(column.type, sa.LargeBinary) for column in columns) else BATCH_SIZE
    statement = sa.select(*map(_read, columns)).execution_options(stream_results=True, yield_per=size)
    for row in connection.execute(statement):
        for index in secret_indexes:
            observe(columns[index].name, row[index])  # type: ignore[misc]
        yield orjson.dumps(list(row), default=_encode_binary)


def fill(connection: sa.Connection, table: sa.Table, lines: Iterable[bytes]) -> None:
    """Insert rows from lines."""
    columns = columns_of(table)
    convert = [_writer(column, connection.dialect) for column in columns]
    quote = connection.dialect.identifier_preparer.quote
    rows = (
        [None if value is None else take(value) for take, value in zip(convert, orjson.loads(line), strict=True)]
        for line in lines
    )
    inserts.insert(connection, table, [quote(column.name) for column in columns], rows)


def set_sequences(connection: sa.Connection, tables: Iterable[sa.Table]) -> None:
    """Set the sequences of PostgreSQL to the highest restored number. SQLite needs no change."""
    if connection.dialect.name != "postgresql":
        return
    for table in tables:
        for column in table.primary_key:
            which = sa.func.pg_get_serial_sequence(table.name, column.name)
            if connection.scalar(sa.select(which)) is not None:
                highest = sa.select(sa.func.greatest(sa.func.max(column), 1)).scalar_subquery()
                connection.execute(sa.select(sa.func.setval(which, highest)))


def first_nonempty(connection: sa.Connection, tables: Iterable[sa.Table]) -> str | None:
    """Return the name of a table with rows, or None if all are empty."""
    for table in tables:
        if connection.execute(sa.select(sa.literal(1)).select_from(table).limit(1)).first() is not None:
            return table.name
    return None


def _read(column: sa.Column[object]) -> Any:
    return sa.cast(column, sa.Text) if isinstance(column.type, sa.JSON) else column


def _writer(column: sa.Column[object], dialect: sa.Dialect) -> Callable[[Any], object]:
    kind: object = column.type
    if isinstance(kind, UtcDateTime | sa.DateTime):
        bind = kind.dialect_impl(dialect).bind_processor(dialect)
        return lambda text: _bound(bind, dt.datetime.fromisoformat(text))
    if isinstance(kind, sa.Date):
        bind_date = kind.dialect_impl(dialect).bind_processor(dialect)
        return lambda text: _bound(bind_date, dt.date.fromisoformat(text))
    if isinstance(kind, sa.LargeBinary):
        return lambda value: base64.b64decode(value["base64"])
    return lambda value: value


def _bound(bind: Callable[[object], object] | None, value: object) -> object:
    return value if bind is None else bind(value)


def _encode_binary(value: object) -> object:
    if isinstance(value, bytes | memoryview):
        return {"base64": base64.b64encode(bytes(value)).decode()}
    raise TypeError(f"a backup cannot contain a {type(value).__name__}")


def call_lines(connection: sa.Connection, engine: JobEngine) -> Iterator[bytes]:
    """Yield a line for every call that has not ended. The remaining delay is rounded down to seconds."""
    for call in engine.unfinished(connection):
        fields = [
            call.name,
            dict(call.args),
            int(call.delay.total_seconds()),
            call.unique,
            call.lock,
            call.priority,
            call.context,
        ]
        yield orjson.dumps(fields)


def enqueue_calls(connection: sa.Connection, engine: JobEngine, lines: Iterable[bytes]) -> None:
    """Enqueue the calls in their order."""
    for line in lines:
        name, args, delay_s, unique, lock, priority, cause = orjson.loads(line)
        engine.defer(connection, JobCall(name, args, timedelta(seconds=delay_s), unique, lock, priority, cause))
