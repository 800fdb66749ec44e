"""Statements `INSERT … ON CONFLICT` for PostgreSQL and SQLite."""

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.sql.dml import Insert


def insert_or_ignore(dialect: str, table: Any, values: Mapping[str, Any], *, unique: Sequence[str]) -> Insert:
    """Return a statement that inserts a row unless a row with the same `unique` columns exists."""
    statement: Insert = _insert(dialect, table).values(**values).on_conflict_do_nothing(index_elements=list(unique))
    return statement


def insert_or_update(
    dialect: str, table: Any, values: Mapping[str, Any], *, unique: Sequence[str], changes: Mapping[str, Any]
) -> Insert:
    """Return a statement that inserts a row, or applies `changes` to the row with the same `unique` columns."""
    insert = _insert(dialect, table).values(**values)
    statement: Insert = insert.on_conflict_do_update(index_elements=list(unique), set_=dict(changes))
    return statement


def insert_rows(dialect: str, table: Any, *, unique: Sequence[str], changed: Sequence[str] = ()) -> Insert:
    """Return a statement for any number of rows.

    It inserts each row, or updates the `changed` columns of the row with the same `unique` columns.
    """
    insert = _insert(dialect, table)
    updates = {name: insert.excluded[name] for name in changed}
    conflict = {"index_elements": list(unique)}
    statement: Insert = (
        insert.on_conflict_do_update(**conflict, set_=updates) if updates else insert.on_conflict_do_nothing(**conflict)
    )
    return statement


def _insert(dialect: str, table: Any) -> Any:
    return postgresql.insert(table) if dialect == "postgresql" else sqlite.insert(table)
