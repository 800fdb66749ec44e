"""Everything that is stored, and what a request changed of it."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import sqlalchemy as sa
from flask import Flask

from app.extensions import db
from app.models.base import Base

Row = dict[str, Any]
State = dict[str, dict[tuple[Any, ...], Row]]
"""By table, the rows by their primary keys; of tables that are not ours (queues) by all they hold."""


@dataclass
class Changes:
    """What became of rows; `kinds` are the changes without the values that differ from request to request."""

    kinds: set[tuple[object, ...]] = field(default_factory=set)
    values: list[tuple[str, str, Any]] = field(default_factory=list)


def everything(app: Flask) -> State:
    """Every row of every table there is."""
    with app.app_context(), db.engine.connect() as connection:
        ours = Base.metadata.tables
        others = sa.MetaData()
        names = set(sa.inspect(connection).get_table_names()) - set(ours) - {"alembic_version"}
        # Not the blocks of SQLite's inverted index, which keep words that were deleted until they are merged.
        others.reflect(connection, only=[name for name in names if not name.startswith("content_words")])
        tables = [*ours.values(), *others.tables.values()]
        return {table.name: dict(_rows(connection, table, mine=table.name in ours)) for table in tables}


def rows_naming(app: Flask, words: set[str]) -> dict[str, int]:
    """By table, how many rows hold one of the words, in text, JSON or bytes; tables without any are left out."""
    counts = {
        name: sum(any(_holds(value, words) for value in row.values()) for row in rows.values())
        for name, rows in everything(app).items()
    }
    return {name: count for name, count in counts.items() if count}


def _holds(value: object, words: set[str]) -> bool:
    told = bytes(value).decode("utf-8", "replace") if isinstance(value, bytes | memoryview) else str(value)
    return any(word in told for word in words)


def changes(before: State, after: State) -> Changes:
    """What was inserted, updated and deleted; of new values flags and closed words are part of the kind."""
    found = Changes()
    for name, rows in after.items():
        table, known = Base.metadata.tables.get(name), before.get(name, {})
        for key, row in rows.items():
            old = known.get(key)
            for column, value in row.items():
                if old is None or old[column] != value:
                    found.values.append((name, column, value))
                    if table is not None:
                        told = value if _is_closed(table.c[column].type) else None
                        found.kinds.add(("insert" if old is None else "update", name, column, told))
        found.kinds |= {("delete", name) for key in known if key not in rows and table is not None}
    return found


def _rows(connection: sa.Connection, table: sa.Table, *, mine: bool) -> Iterator[tuple[tuple[Any, ...], Row]]:
    for found in connection.execute(sa.select(table)).mappings():
        row = dict(found)
        key = [row[column.name] for column in table.primary_key] if mine else [str(value) for value in row.values()]
        yield tuple(key), row


def _is_closed(kind: sa.types.TypeEngine[Any]) -> bool:
    return isinstance(kind, sa.Boolean | sa.Enum)
