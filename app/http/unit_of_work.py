"""The database session of a request: reading without a transaction, or writing with exactly one."""

from app.core.database import READING, reading_options
from app.extensions import db


def start_reading() -> None:
    """Answer the following statements without opening a transaction; nothing may be flushed meanwhile."""
    db.session.connection(execution_options=reading_options(db.engine))


def is_reading() -> bool:
    """Whether the session reads without a transaction."""
    return db.session.in_transaction() and bool(db.session.connection().get_execution_options().get(READING))


def start_writing(*, read_anew: bool = False) -> None:
    """End reading; the next statement opens the one transaction.

    With `read_anew`, objects read before are read again on use: time has passed since (a call to the outside).
    """
    db.session.commit()
    if read_anew:
        db.session.expire_all()


def commit() -> None:
    """Make everything visible: rows and enqueued jobs alike."""
    db.session.commit()


def give_up() -> None:
    """Undo everything."""
    db.session.rollback()
