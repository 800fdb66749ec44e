"""Deletion of expired rows in small transactions."""

from typing import Any

import sqlalchemy as sa

from app.database import transactions
from app.extensions import db

BATCH_SIZE, MAX_BATCHES = 2_000, 500


def purge(model: Any, where: sa.ColumnElement[bool], *, batch_size: int = BATCH_SIZE) -> int:
    """Delete the matching rows of a table, at most a million, and return their number."""
    key = sa.tuple_(*model.__table__.primary_key.columns)
    batch = sa.select(*model.__table__.primary_key.columns).where(where).limit(batch_size)
    total = 0
    for _ in range(MAX_BATCHES):
        with transactions.write_transaction():
            deleted: Any = db.session.execute(
                sa.delete(model).where(key.in_(batch)), execution_options={"synchronize_session": False}
            )
        total += deleted.rowcount
        if deleted.rowcount < batch_size:
            break
    return total
