"""Cursor of PostgreSQL that describes the columns of a statement once."""

from typing import Any, Self

import psycopg
from psycopg import Column
from psycopg.pq import ExecStatus

MAX_STATEMENTS = 512

_descriptions: dict[tuple[str, int], list[Column]] = {}


class CachingCursor(psycopg.Cursor[Any]):
    """A cursor whose `description` is equal for all executions of a statement.

    SQLAlchemy reads the description of each result. psycopg creates an object per column, which costs as much as the
    execution of a short statement. The names of the columns belong to the statement.
    """

    __slots__ = ("statement",)

    # Any: psycopg declares several types of statements and parameters.
    def execute(self, query: Any, params: Any = None, **options: Any) -> Self:
        """Execute a statement."""
        self.statement = query if isinstance(query, str) else None
        return super().execute(query, params, **options)

    def executemany(self, query: Any, params_seq: Any, **options: Any) -> None:
        """Execute a statement for several sets of parameters."""
        self.statement = None
        super().executemany(query, params_seq, **options)

    @property
    def description(self) -> list[Column] | None:
        """The columns of the result, or None for a statement without rows."""
        result = self.pgresult
        statement: str | None = getattr(self, "statement", None)
        if statement is None or result is None or result.status != ExecStatus.TUPLES_OK:
            return super().description
        key = (statement, result.nfields)
        columns = _descriptions.get(key)
        if columns is None:
            columns = super().description or []
            if len(_descriptions) >= MAX_STATEMENTS:
                _descriptions.clear()
            _descriptions[key] = columns
        return columns
