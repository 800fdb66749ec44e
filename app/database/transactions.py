"""Transactions of a request, job or command, in one of three states (architecture, section 6).

A caller of services begins and commits. Services do neither, so no outbound call runs inside a transaction. Requests,
jobs and commands start in READING, and return to it after a transaction. `write_transaction`, `locked_row` and
`outside_transaction` are the way to the other states. The other functions are for the machinery of requests.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import StrEnum
from typing import Any, TypeVar

import sqlalchemy as sa
import structlog
from flask import Flask, current_app, g, has_app_context
from flask_sqlalchemy import SQLAlchemy
from flask_sqlalchemy.session import Session
from sqlalchemy import event
from sqlalchemy.orm import DeclarativeBase, InstrumentedAttribute

from app.concurrency.threadpool import is_patched
from app.core import outbound
from app.database.errors import is_unique_violation
from app.database.sqlite import MAX_PAUSE_S

log = structlog.get_logger(__name__)

LONG_S = 0.1
"""Duration of a transaction after which a process without green threads lets others write."""

READING = "galley_reading"
"""Key of `RoutingSession.info`, and of `g` while it does not exist: statements use the reading engine."""

EXPLICIT = "galley_explicit"
"""Key of `RoutingSession.info`: `begin_write` opened the present transaction."""

CANNOT_WRITE = "the state READING has no transaction, so rows cannot be changed"

M = TypeVar("M", bound=DeclarativeBase)


class TransactionState(StrEnum):
    """The state of `db.session`."""

    IDLE = "idle"
    """No connection. Outbound calls are allowed."""
    READING = "reading"
    """One autocommit connection of the reader pool."""
    WRITING = "writing"
    """One transaction of the writer pool."""


class RoutingSession(Session):
    """A session that uses the reading engine or the writing engine."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.info[READING] = g.pop(READING, False)

    def get_bind(self, mapper: object = None, clause: object = None, bind: Any = None, **kwargs: object) -> Any:
        """Return the engine of the next statement.

        Raises:
            RuntimeError: a change of rows in the state READING, in which no transaction exists.
        """
        if bind is None and self.info.get(READING):
            if isinstance(clause, sa.UpdateBase):
                raise RuntimeError(CANNOT_WRITE)
            return current_app.extensions["reading_engine"]
        return super().get_bind(mapper, clause, bind, **kwargs)

    def commit(self) -> None:
        """Commit and return the connection to its pool. After `begin_write`, return to READING."""
        super().commit()
        self._end_transaction()

    def rollback(self) -> None:
        """Roll back and return the connection to its pool. After `begin_write`, return to READING."""
        super().rollback()
        self._end_transaction()

    def _end_transaction(self) -> None:
        if self.info.pop(EXPLICIT, False):
            self.info[READING] = True


@event.listens_for(RoutingSession, "before_flush")
def _refuse_flush(session: RoutingSession, *_: object) -> None:
    """Refuse a flush in the state READING, in which no transaction exists."""
    if session.info.get(READING) and (session.new or session.deleted or any(map(session.is_modified, session.dirty))):
        raise RuntimeError(CANNOT_WRITE)


db = SQLAlchemy(disable_autonaming=True, session_options={"class_": RoutingSession, "expire_on_commit": False})


def transaction_state() -> TransactionState:
    """Return the state of `db.session` in this application context."""
    if not db.session.registry.has() or not db.session().in_transaction():
        return TransactionState.IDLE
    return TransactionState.READING if db.session.info[READING] else TransactionState.WRITING


@contextmanager
def reading_context(app: Flask) -> Iterator[None]:
    """Run the block in a new application context that starts in READING."""
    with app.app_context():
        start_reading()
        yield


def start_reading() -> None:
    """Run the following statements without a transaction. A flush is refused until `begin_write`.

    Raises:
        RuntimeError: a write transaction is open.
    """
    release_connection()
    if db.session.registry.has():
        db.session.info[READING] = True
    else:  # Do not create a session: most requests never use one.
        setattr(g, READING, True)


def is_reading() -> bool:
    """Return whether the next statement runs without a transaction."""
    return bool(db.session.info[READING] if db.session.registry.has() else g.get(READING))


def in_write_transaction() -> bool:
    """Return whether `begin_write` opened a transaction that has not ended."""
    return db.session.registry.has() and bool(db.session.info.get(EXPLICIT))


def begin_write() -> None:
    """Enter WRITING from IDLE or READING. Expire all loaded objects: their rows may have changed since.

    Stay in READING if the transaction cannot begin.

    Raises:
        RuntimeError: a write transaction is open.
    """
    if in_write_transaction():
        raise RuntimeError("a write transaction is open; transactions cannot be nested")
    db.session.commit()
    db.session.info[READING] = False
    db.session.expire_all()
    db.session.info[EXPLICIT] = True
    try:
        db.session.connection()
    except BaseException:
        db.session.rollback()
        raise


def release_connection() -> None:
    """Enter IDLE from READING: return the connection to its pool.

    Raises:
        RuntimeError: a write transaction is open.
    """
    if in_write_transaction():
        raise RuntimeError("a write transaction is open; an outbound call cannot wait inside of it")
    if db.session.registry.has():
        db.session.commit()


def commit() -> None:
    """Commit the transaction and return to READING. Rows and enqueued jobs become visible together."""
    db.session.commit()


def rollback() -> None:
    """Undo the transaction and return to READING. Rows and enqueued jobs disappear together."""
    db.session.rollback()


@contextmanager
def write_transaction() -> Iterator[None]:
    """Run the block in one short transaction. Commit it, or roll it back if the block raises. Return to READING.

    Raises:
        RuntimeError: a write transaction is open.
    """
    begin_write()
    started = time.monotonic()
    try:
        yield
        db.session.commit()
    except BaseException:
        db.session.rollback()
        raise
    if not is_patched() and time.monotonic() - started > LONG_S and db.engine.dialect.name == "sqlite":
        time.sleep(MAX_PAUSE_S)  # Work in the background lets requests take the write lock of SQLite.


@contextmanager
def locked_row(model: type[M], row_id: str) -> Iterator[M | None]:
    """Run the block in a write transaction with the present row of a table, locked. None: it does not exist."""
    with write_transaction():
        yield db.session.get(model, row_id, with_for_update=True, populate_existing=True)


@contextmanager
def outside_transaction() -> Iterator[None]:
    """Run the block without a connection: outbound calls, hashing, work on files. Return to READING, also on failure.

    The block can contain reads after its last call, write transactions and further blocks of this kind.

    Raises:
        RuntimeError: a write transaction is open.
    """
    release_connection()
    try:
        yield
    finally:
        if not is_reading():
            start_reading()


@contextmanager
def savepoint(conflict: Callable[[], Exception], *columns: InstrumentedAttribute[object]) -> Iterator[None]:
    """Run the block in a savepoint and flush. Raise `conflict()` if it violates the unique constraint of `columns`."""
    try:
        with db.session.begin_nested():
            yield
    except sa.exc.IntegrityError as error:
        if is_unique_violation(error, *columns):
            raise conflict() from error
        raise


@contextmanager
def flushed(conflict: Callable[[], Exception], *columns: InstrumentedAttribute[object]) -> Iterator[None]:
    """Run the block and flush. Raise `conflict()` as `savepoint` does.

    Without a savepoint, the failed transaction can only be rolled back. So the request must end with this error.
    """
    try:
        yield
        db.session.flush()
    except sa.exc.IntegrityError as error:
        if is_unique_violation(error, *columns):
            raise conflict() from error
        raise


def check_outbound_calls() -> None:
    """Check the state before each outbound call of this process."""
    outbound.set_check(check_outbound_call)


def check_outbound_call(client: str) -> None:
    """Check that `db.session` holds no connection. A thread without an application context has none.

    Raises:
        RuntimeError: it holds a connection. In production the call is logged instead.
    """
    if not has_app_context() or transaction_state() is TransactionState.IDLE:
        return
    if current_app.config["SETTINGS"].env != "production":
        raise RuntimeError(f"the transaction state is {transaction_state()} during a call of the client {client!r}")
    log.warning("database.held_during_call", client=client, state=str(transaction_state()))
