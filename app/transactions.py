"""The session's two ways: reading without a transaction, or writing in exactly one. Used by `endpoint` and by jobs.

Services neither begin nor commit; whoever calls them does, so that nothing of the outside is waited for inside a
transaction.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from flask import g

from app.extensions import READING, db


def start_reading() -> None:
    """Answer the following statements without opening a transaction; flushing is refused meanwhile."""
    if not db.session.registry.has():
        # Many requests never need a session: none is made just to be told how to read.
        setattr(g, READING, True)
        return
    if db.session().in_transaction():
        db.session.commit()
    db.session.info[READING] = True


def is_reading() -> bool:
    """Whether no transaction is opened by the next statement."""
    return bool(db.session.info[READING] if db.session.registry.has() else g.get(READING))


def start_writing(*, read_anew: bool = False) -> None:
    """End reading; the next statement opens the one transaction.

    With `read_anew`, objects read before are read again on use: time has passed since (a call to the outside).
    """
    db.session.commit()
    db.session.info[READING] = False
    if read_anew:
        db.session.expire_all()


def rest() -> None:
    """Give the connection back while something outside is waited for; the next statement takes another."""
    db.session.commit()


def commit() -> None:
    """Make everything visible: rows and enqueued jobs alike."""
    db.session.commit()


@contextmanager
def writing() -> Iterator[None]:
    """One short transaction amid reading, committed at its end; reading goes on after it."""
    start_writing(read_anew=True)
    try:
        yield
        db.session.commit()
    except BaseException:
        db.session.rollback()
        raise
    start_reading()
