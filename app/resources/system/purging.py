"""Taking away rows that have run out, in small transactions, so that nobody waits for a long one."""

from typing import Any

import sqlalchemy as sa

from app import transactions
from app.extensions import db

AT_ONCE, ROUNDS = 2_000, 500


def purge(model: Any, where: sa.ColumnElement[bool]) -> int:
    """Delete the rows of a table that fit, a million at most; returns how many."""
    key = sa.tuple_(*model.__table__.primary_key.columns)
    some = sa.select(*model.__table__.primary_key.columns).where(where).limit(AT_ONCE)
    total = 0
    for _ in range(ROUNDS):
        with transactions.writing():
            deleted: Any = db.session.execute(
                sa.delete(model).where(key.in_(some)), execution_options={"synchronize_session": False}
            )
        total += deleted.rowcount
        if deleted.rowcount < AT_ONCE:
            break
    return total
