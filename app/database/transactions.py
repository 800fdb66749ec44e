"""Transactions of a request, job or command: the three states of its database session (architecture, section 6).

A caller of services begins and commits. Services do neither, so no outbound call runs inside a transaction.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import StrEnum
from typing import Any

import sqlalchemy as sa
from flask import current_app, g
from flask_sqlalchemy import SQLAlchemy
from flask_sqlalchemy.session import Session
from sqlalchemy import event
from sqlalchemy.orm import InstrumentedAttribute

from app.database.errors import is_unique_violation

READING = "galley_reading"
"""Key of `Session.info`, and of `g` while the session does not exist: statements use the reading engine."""

EXPLICIT = "galley_explicit"
"""Key of `Session.info`: `begin_write` opened the present transaction."""


class SessionState(StrEnum):
    """The state of the database session."""

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

    def get_bind(self, mapper: Any = None, clause: Any = None, bind: Any = None, **kwargs: Any) -> Any:
        """Return the engine of the next statement."""
        if bind is None and self.info.get(READING):
            return current_app.extensions["reading_engine"]
        return super().get_bind(mapper, clause, bind, **kwargs)

    def commit(self) -> None:
        """Commit and return the connection to its pool."""
        super().commit()
        self.info[EXPLICIT] = False

    def rollback(self) -> None:
        """Roll back and return the connection to its pool."""
        super().rollback()
        self.info[EXPLICIT] = False


@event.listens_for(RoutingSession, "before_flush")
def _refuse_flush(reading: Session, *_details: object) -> None:
    """Raise RuntimeError for a flush in the state READING, in which no transaction exists."""
    is_changed = reading.new or reading.deleted or any(map(reading.is_modified, reading.dirty))
    if reading.info[READING] and is_changed:
        raise RuntimeError("the session is in the state READING and cannot write")


db = SQLAlchemy(disable_autonaming=True, session_options={"class_": RoutingSession, "expire_on_commit": False})


def session_state() -> SessionState:
    """Return the state of the session of this application context."""
    if not db.session.registry.has() or not db.session().in_transaction():
        return SessionState.IDLE
    return SessionState.READING if db.session.info[READING] else SessionState.WRITING


def require_state(*allowed: SessionState) -> None:
    """Check the state of the session.

    Raises:
        RuntimeError: the session is in another state.
    """
    state = session_state()
    if state not in allowed:
        raise RuntimeError(f"the database session is {state}, but must be {' or '.join(allowed)}")


def start_reading() -> None:
    """Run the following statements without a transaction. A flush is refused until `begin_write`."""
    if not db.session.registry.has():
        # Do not create a session here: most requests never use one.
        setattr(g, READING, True)
        return
    if db.session().in_transaction():
        db.session.commit()
    db.session.info[READING] = True


def is_reading() -> bool:
    """Return whether the next statement runs without a transaction."""
    return bool(db.session.info[READING] if db.session.registry.has() else g.get(READING))


def in_write_transaction() -> bool:
    """Return whether `begin_write` opened a transaction that has not ended."""
    return db.session.registry.has() and bool(db.session.info.get(EXPLICIT))


def begin_write(*, refresh: bool = False) -> None:
    """Enter WRITING from IDLE or READING. `refresh` expires all loaded objects, which may have changed since.

    Raises:
        RuntimeError: a transaction is open.
    """
    if in_write_transaction():
        raise RuntimeError("a write transaction is open; transactions cannot be nested")
    db.session.commit()
    db.session.info[READING] = False
    if refresh:
        db.session.expire_all()
    db.session.connection()
    db.session.info[EXPLICIT] = True


def release_connection() -> None:
    """Return the connection of the session to its pool. Call this before an outbound request.

    Raises:
        RuntimeError: a transaction is open.
    """
    if not db.session.registry.has():
        return
    if db.session.info.get(EXPLICIT):
        raise RuntimeError("a write transaction is open; commit it first")
    db.session.commit()


def commit() -> None:
    """Commit the transaction: WRITING to IDLE. Rows and enqueued jobs become visible together."""
    db.session.commit()


def rollback() -> None:
    """Undo the transaction: WRITING to IDLE. Rows and enqueued jobs disappear together."""
    db.session.rollback()


@contextmanager
def savepoint(conflict: Callable[[], Exception], *columns: InstrumentedAttribute[Any]) -> Iterator[None]:
    """Run the block in a savepoint and flush. Raise `conflict()` if it violates the unique constraint of `columns`."""
    try:
        with db.session.begin_nested():
            yield
    except sa.exc.IntegrityError as error:
        if is_unique_violation(error, *columns):
            raise conflict() from error
        raise


@contextmanager
def flushed(conflict: Callable[[], Exception], *columns: InstrumentedAttribute[Any]) -> Iterator[None]:
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


@contextmanager
def write_transaction() -> Iterator[None]:
    """Run the block in one short transaction, and return to IDLE. The following statements only read.

    Raises:
        RuntimeError: a transaction is open.
    """
    begin_write(refresh=True)
    try:
        yield
        db.session.commit()
    except BaseException:
        db.session.rollback()
        raise
    start_reading()
