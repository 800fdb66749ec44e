"""Statistics of growing tables. PostgreSQL plans by them, and its own update comes a minute after an insertion."""

from collections.abc import Mapping, Sequence
from typing import Any

from app.database import inserts, transactions
from app.extensions import db
from app.models.base import Base


class GrowthStatistics:
    """Updates the statistics of tables with the first rows and each time that their number has doubled."""

    def __init__(self, tables: Mapping[type[Base], Sequence[str]]) -> None:
        """Store the models of the tables with the columns."""
        self._tables, self._added, self._counted = tables, 0, 0

    def add(self, rows: int) -> None:
        """Count rows that were added."""
        self._added += rows
        if self._added >= 2 * self._counted:
            for model, columns in self._tables.items():
                analyze(model, columns)
            self._counted = self._added


def analyze(model: Any, columns: Sequence[str]) -> None:
    """Update the statistics of the table of a model, in a separate transaction."""
    with transactions.write_transaction():
        inserts.analyze(db.session.connection(), model.__table__, columns)
