"""Recording of the statements that reach the database."""

from collections.abc import Iterator
from contextlib import contextmanager

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
