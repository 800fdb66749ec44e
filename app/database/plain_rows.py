"""Rows of plain values for requests that only read: no objects, no conversion of enumerations and times."""

from collections.abc import Mapping
from typing import Any

import sqlalchemy as sa
from flask import current_app

from app.database.transactions import db, is_reading


def plain(column: Any, label: str | None = None) -> sa.ColumnElement[Any]:
    """Return a column that is read as the driver returns it: enumerations as text, times as the database stores them.

    SQLite returns times without a time zone. `clock.iso` formats both forms.
    """
    value = column
    if isinstance(column.type, sa.Enum):
        value = sa.type_coerce(column, sa.String())
    elif isinstance(column.type, sa.types.TypeDecorator):
        value = sa.type_coerce(column, column.type.impl)
    labelled: sa.ColumnElement[Any] = value.label(label or column.name)
    return labelled


def read(statement: sa.Executable, parameters: Mapping[str, Any]) -> list[Any]:
    """Return all rows of a statement.

    A request that only reads uses no database session, whose creation costs more than the statement.
    """
    if is_reading() and not db.session.registry.has():
        with current_app.extensions["reading_engine"].connect() as connection:
            return list(connection.execute(statement, parameters))
    return list(db.session.connection().execute(statement, parameters))
