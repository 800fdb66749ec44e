"""The complete stored state, and the changes of a request."""

from dataclasses import dataclass, field
from functools import cache
from typing import Any

import sqlalchemy as sa
from flask import Flask

from app.extensions import db
from app.models.base import Base

Row = sa.Row[Any]
State = dict[str, dict[tuple[Any, ...], Row]]
"""Rows by table and primary key. For tables of other components (queues) the complete contents."""


@dataclass
class Changes:
    """The changed rows. `kinds` omits the values that differ between requests."""

    kinds: set[tuple[object, ...]] = field(default_factory=set)
    values: list[tuple[str, str, Any]] = field(default_factory=list)


def read_state(app: Flask) -> State:
    """Read every row of every table."""
    with app.app_context(), db.engine.connect() as connection:
        return {table.name: _rows(connection, table) for table in (*Base.metadata.tables.values(), *_others(db.engine))}


@cache
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
        name: sum(any(_contains_term(value, words) for value in row) for row in rows.values())
        for name, rows in read_state(app).items()
    }
    return {name: count for name, count in counts.items() if count}


def _contains_term(value: object, words: set[str]) -> bool:
    text = bytes(value).decode("utf-8", "replace") if isinstance(value, bytes | memoryview) else str(value)
    return any(word in text for word in words)


def changes(before: State, after: State) -> Changes:
    """Compare two states. The kind of a change includes new flags and enumeration values."""
    found = Changes()
    for name, rows in after.items():
        table, known = Base.metadata.tables.get(name), before.get(name, {})
        for key, row in rows.items():
            old = known.get(key)
            if old == row:
                continue
            for column, value in row._mapping.items():
                if old is None or old._mapping[column] != value:
                    found.values.append((name, column, value))
                    if table is not None:
                        told = value if _is_closed(table.c[column].type) else None
                        found.kinds.add(("insert" if old is None else "update", name, column, told))
        if table is not None and not known.keys() <= rows.keys():
            found.kinds.add(("delete", name))
    return found


def _rows(connection: sa.Connection, table: sa.Table) -> dict[tuple[Any, ...], Row]:
    rows = connection.execute(sa.select(table)).all()
    if table.metadata is not Base.metadata:
        return {tuple(map(str, row)): row for row in rows}
    names = list(table.columns)
    places = [names.index(column) for column in table.primary_key]
    return {tuple(row[place] for place in places): row for row in rows}


def _is_closed(kind: sa.types.TypeEngine[Any]) -> bool:
    return isinstance(kind, sa.Boolean | sa.Enum)
