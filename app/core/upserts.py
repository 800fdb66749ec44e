"""`INSERT … ON CONFLICT`, which both stores have and SQLAlchemy spells once for each."""

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.sql.dml import Insert


def insert_unless_there(dialect: str, table: Any, values: Mapping[str, Any], *, unique: Sequence[str]) -> Insert:
    """Insert a row, or do nothing where one with the same `unique` columns is."""
    statement: Insert = _insert(dialect, table).values(**values).on_conflict_do_nothing(index_elements=list(unique))
    return statement


def insert_or_update(
    dialect: str, table: Any, values: Mapping[str, Any], *, unique: Sequence[str], changes: Mapping[str, Any]
) -> Insert:
    """Insert a row, or make `changes` to the one with the same `unique` columns."""
    insert = _insert(dialect, table).values(**values)
    statement: Insert = insert.on_conflict_do_update(index_elements=list(unique), set_=dict(changes))
    return statement


def insert_rows(dialect: str, table: Any, *, unique: Sequence[str], changed: Sequence[str] = ()) -> Insert:
    """For any number of rows at once: each is inserted, or changes those columns of the one that has its `unique` ones."""
    insert = _insert(dialect, table)
    told = {name: insert.excluded[name] for name in changed}
    conflict = {"index_elements": list(unique)}
    statement: Insert = (
        insert.on_conflict_do_update(**conflict, set_=told) if told else insert.on_conflict_do_nothing(**conflict)
    )
    return statement


def _insert(dialect: str, table: Any) -> Any:
    return postgresql.insert(table) if dialect == "postgresql" else sqlite.insert(table)
