"""Statistics of growing tables. PostgreSQL plans by them, and its own update comes a minute after an insertion."""

from collections.abc import Mapping, Sequence
from typing import Any

from app.database import inserts, transactions
from app.extensions import db
from app.models.base import Base

SHARE = 0.1
"""New rows per row of the smallest table after which its statistics are updated, as PostgreSQL itself does it."""


class GrowthStatistics:
    """Updates the statistics of tables after a share of new rows, and each time that the new rows have doubled."""

    def __init__(self, tables: Mapping[type[Base], Sequence[str]]) -> None:
        """Store the models of the tables with the columns."""
        self._tables, self._added = tables, 0
        self._next: float | None = None

    def add(self, rows: int) -> None:
        """Count rows that were added."""
        if not _has_statistics():
            return
        if self._next is None:
            names = [str(model.__tablename__) for model in self._tables]
            self._next = SHARE * inserts.estimated_rows(db.session.connection(), names)
        self._added += rows
        if self._added >= self._next:
            for model, columns in self._tables.items():
                analyze(model, columns)
            self._next = 2 * self._added


def analyze(model: Any, columns: Sequence[str]) -> None:
    """Update the statistics of the table of a model, in a separate transaction. SQLite does not need this."""
    if _has_statistics():
        with transactions.write_transaction():
            inserts.analyze(db.session.connection(), model.__table__, columns)


def _has_statistics() -> bool:
    return db.engine.dialect.name == "postgresql"
