"""The complete stored state, and the changes of a request."""

from dataclasses import dataclass, field
from functools import cache
from typing import Any

import sqlalchemy as sa
from flask import Flask

from app.extensions import db
from app.models.base import Base

Row = tuple[Any, ...]
State = dict[str, list[Row]]
"""The rows of each table as the database driver returns them. Only changed rows are converted, because that is slow."""


@dataclass
class Changes:
    """The changed rows. `kinds` omits the values that differ between requests."""

    kinds: set[tuple[object, ...]] = field(default_factory=set)
    values: list[tuple[str, str, Any]] = field(default_factory=list)


def read_state(app: Flask) -> State:
    """Read every row of every table."""
    with app.app_context(), db.engine.connect() as connection:
        cursor = connection.connection.cursor()
        state = {}
        for name, statement in _statements(db.engine).items():
            cursor.execute(statement)
            state[name] = cursor.fetchall()
        cursor.close()
        return state


@cache
def _statements(engine: sa.Engine) -> dict[str, str]:
    """Return the statement that reads each table."""
    tables = (*Base.metadata.tables.values(), *_others(engine))
    return {table.name: str(sa.select(table).compile(engine)) for table in tables}


def _others(engine: sa.Engine) -> list[sa.Table]:
    """Return the tables without a model: queues and tables of the database."""
    metadata = sa.MetaData()
    names = set(sa.inspect(engine).get_table_names()) - set(Base.metadata.tables) - {"alembic_version"}
    # Skip the blocks of SQLite's inverted index. They contain deleted terms until they are merged.
    metadata.reflect(engine, only=[name for name in names if not name.startswith("content_words")])
    return list(metadata.tables.values())


def rows_naming(app: Flask, words: set[str]) -> dict[str, int]:
    """Count, by table, the rows that contain one of the terms in text, JSON or bytes."""
    counts = {
        name: sum(any(_contains_term(value, words) for value in row) for row in rows)
        for name, rows in read_state(app).items()
    }
    return {name: count for name, count in counts.items() if count}


def _contains_term(value: object, words: set[str]) -> bool:
    text = bytes(value).decode("utf-8", "replace") if isinstance(value, bytes | memoryview) else str(value)
    return any(word in text for word in words)


def changes(app: Flask, before: State, after: State) -> Changes:
    """Compare two states. The kind of a change includes new flags and enumeration values."""
    found = Changes()
    for name, rows in after.items():
        if rows == before[name]:
            continue
        table = Base.metadata.tables.get(name)
        if table is None:
            new = set(rows) - set(before[name])
            found.values += [(name, str(number), value) for row in new for number, value in enumerate(row)]
            continue
        with app.app_context():
            _add_changes(found, table, _by_key(table, before[name]), _by_key(table, rows), db.engine.dialect)
    return found


def _add_changes(
    found: Changes, table: sa.Table, before: dict[Row, Row], after: dict[Row, Row], dialect: sa.Dialect
) -> None:
    for key, row in after.items():
        old = before.get(key)
        if old == row:
            continue
        for place, column in enumerate(table.columns):
            if old is None or old[place] != row[place]:
                value = _converted(column.type, row[place], dialect)
                found.values.append((table.name, column.name, value))
                told = value if _is_closed(column.type) else None
                found.kinds.add(("insert" if old is None else "update", table.name, column.name, told))
    if not before.keys() <= after.keys():
        found.kinds.add(("delete", table.name))


def _by_key(table: sa.Table, rows: list[Row]) -> dict[Row, Row]:
    """Return the rows by their primary keys."""
    names = list(table.columns)
    places = [names.index(column) for column in table.primary_key]
    return {tuple(row[place] for place in places): row for row in rows}


def _converted(kind: sa.types.TypeEngine[Any], value: Any, dialect: sa.Dialect) -> Any:
    """Return a value of the driver as the application reads it."""
    convert = kind.dialect_impl(dialect).result_processor(dialect, None)
    return value if convert is None else convert(value)


def _is_closed(kind: sa.types.TypeEngine[Any]) -> bool:
    return isinstance(kind, sa.Boolean | sa.Enum)
