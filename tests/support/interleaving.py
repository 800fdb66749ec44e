"""Execution of an action immediately before a selected statement of a request."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import sqlalchemy as sa
from flask import Flask
from sqlalchemy import event

from app.extensions import db


class StatementHook:
    """A counter of statements that runs the action before one of them."""

    def __init__(self, position: int, action: Callable[[], None]) -> None:
        self._position, self._action = position, action
        self.count = 0

    def __call__(self, *_arguments: Any) -> None:
        self.count += 1
        if self.count == self._position:
            self._action()

    @property
    def has_run(self) -> bool:
        return self.count >= self._position


@contextmanager
def before_statement(app: Flask, position: int, action: Callable[[], None]) -> Iterator[StatementHook]:
    """Run the action before the statement at this position, counted from 1 within the block."""
    hook = StatementHook(position, action)
    with app.app_context():
        engines = (db.engine, app.extensions["reading_engine"], app.extensions["side"].engine)
    for engine in engines:
        event.listen(engine, "before_cursor_execute", hook)
    try:
        yield hook
    finally:
        for engine in engines:
            event.remove(engine, "before_cursor_execute", hook)


def deletion(url: str, table: str, row_id: str, then: Callable[[], None] = lambda: None) -> Callable[[], None]:
    """Return an action that deletes a row on its own connection, then calls `then`. It does nothing while the row is locked."""

    def delete() -> None:
        options: dict[str, Any] = {"timeout": 0} if url.startswith("sqlite") else {"options": "-c lock_timeout=50"}
        engine = sa.create_engine(url, poolclass=sa.NullPool, connect_args=options)
        try:
            with engine.begin() as connection:
                if connection.dialect.name == "sqlite":
                    connection.exec_driver_sql("PRAGMA foreign_keys = ON")
                connection.execute(sa.text(f"DELETE FROM {table} WHERE id = :id"), {"id": row_id})
        except sa.exc.OperationalError:
            return
        finally:
            engine.dispose()
        then()

    return delete
