"""Recording of the statements that reach the database."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import sqlalchemy as sa
from flask import Flask
from sqlalchemy import event

from app.extensions import db


@contextmanager
def counted(app: Flask) -> Iterator[list[str]]:
    """Record every statement of the application's engines inside the block."""
    seen: list[str] = []

    def note(_connection: sa.Connection, _cursor: object, statement: str, *_: object) -> None:
        seen.append(statement)

    with app.app_context():
        engines = (db.engine, app.extensions["reading_engine"])
    for engine in engines:
        event.listen(engine, "before_cursor_execute", note)
    try:
        yield seen
    finally:
        for engine in engines:
            event.remove(engine, "before_cursor_execute", note)


Executed = tuple[str, Any]


@contextmanager
def executed(app: Flask) -> Iterator[list[Executed]]:
    """Record every SELECT of the reading engine inside the block, with its parameters."""
    seen: list[Executed] = []

    def note(_connection: sa.Connection, _cursor: object, statement: str, parameters: Any, *_: object) -> None:
        if statement.lstrip().startswith(("SELECT", "WITH")):
            seen.append((statement, parameters))

    with app.app_context():
        engine = app.extensions["reading_engine"]
    event.listen(engine, "before_cursor_execute", note)
    try:
        yield seen
    finally:
        event.remove(engine, "before_cursor_execute", note)


def plan_of(app: Flask, statement: str, parameters: Any) -> list[str]:
    """Return the lines of the plan of a statement. PostgreSQL scans a table only if no index can be used."""
    with app.app_context(), db.engine.connect() as connection:
        if connection.dialect.name == "sqlite":
            rows = connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {statement}", parameters)
            return [row[3] for row in rows]
        connection.exec_driver_sql("SET LOCAL enable_seqscan = off")
        return [row[0] for row in connection.exec_driver_sql(f"EXPLAIN {statement}", parameters)]
