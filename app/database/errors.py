"""Classification of database errors: transient failures, missing schema, violated constraints, deadlocks."""

from typing import Any

import sqlalchemy as sa
from sqlalchemy.orm import InstrumentedAttribute
from sqlalchemy.orm.exc import ObjectDeletedError, StaleDataError

DatabaseError = sa.exc.SQLAlchemyError
"""Base class of the errors that a statement or a connection raises."""

IntegrityError = sa.exc.IntegrityError
"""A statement violates a constraint."""

TRANSIENT_ERROR_CLASSES = ("08", "25", "40", "53", "55", "57", "58")
"""Classes of PostgreSQL errors that describe its state: connection, read-only, deadlock, full, locked, stopping."""

UNIQUE_VIOLATION, FOREIGN_KEY_VIOLATION, DEADLOCK = "23505", "23503", "40P01"
MISSING_SCHEMA = ("42P01", "42703")

VANISHED_ROW_ERRORS = (ObjectDeletedError, StaleDataError, sa.exc.NoResultFound)
"""Errors of the ORM for a row that another transaction deleted after it was loaded."""


def error_message(error: sa.exc.DBAPIError) -> str:
    """Return the first line of the driver's message. It contains neither the statement nor its values."""
    return (str(error.orig).strip() or type(error).__name__).splitlines()[0]


def is_missing_schema(error: sa.exc.DBAPIError) -> bool:
    """Return whether a statement named a table or column that does not exist."""
    return _sqlstate(error) in MISSING_SCHEMA or error_message(error).startswith(("no such table", "no such column"))


def is_transient(error: Exception) -> bool:
    """Return whether a retry may succeed. An error in the statement is not transient."""
    if isinstance(error, sa.exc.OperationalError | sa.exc.InterfaceError | sa.exc.TimeoutError):
        return True
    is_invalidated = bool(getattr(error, "connection_invalidated", False))
    return _sqlstate(error).startswith(TRANSIENT_ERROR_CLASSES) or is_invalidated


def is_deadlock(error: Exception) -> bool:
    """Return whether PostgreSQL ended the transaction to resolve a deadlock."""
    return _sqlstate(error) == DEADLOCK


def is_vanished_row(error: Exception) -> bool:
    """Return whether the error reports a row that another transaction deleted: a loaded row or the target of a key."""
    return isinstance(error, VANISHED_ROW_ERRORS) or (
        isinstance(error, sa.exc.IntegrityError)
        and (_sqlstate(error) == FOREIGN_KEY_VIOLATION or error_message(error).startswith("FOREIGN KEY"))
    )


def is_unique_violation(error: Exception, *columns: InstrumentedAttribute[object]) -> bool:
    """Return whether the error violates the unique constraint of exactly these columns, or any without columns."""
    if not isinstance(error, sa.exc.IntegrityError):
        return False
    if _sqlstate(error) == UNIQUE_VIOLATION:
        diagnostics: Any = error.orig
        return not columns or diagnostics.diag.constraint_name in _unique_names(columns)
    names = ", ".join(f"{column.class_.__tablename__}.{column.key}" for column in columns)
    message = error_message(error)
    return message == f"UNIQUE constraint failed: {names}" if columns else message.startswith("UNIQUE")


def _unique_names(columns: tuple[InstrumentedAttribute[object], ...]) -> set[str]:
    """Return the names of the unique constraints and indexes of these columns."""
    table: sa.Table = columns[0].class_.__table__
    names = [column.key for column in columns]
    unique: list[Any] = [
        *(item for item in table.constraints if isinstance(item, sa.UniqueConstraint | sa.PrimaryKeyConstraint)),
        *(index for index in table.indexes if index.unique),
    ]
    return {str(item.name) for item in unique if [column.key for column in item.columns] == names}


def _sqlstate(error: Exception) -> str:
    return str(getattr(getattr(error, "orig", None), "sqlstate", None) or "")
