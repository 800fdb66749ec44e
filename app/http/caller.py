"""Who a session's token stands for: read in one statement as plain values, made objects only where somebody asks for them."""

from collections import namedtuple
from functools import cached_property
from typing import Any, TypeVar

import sqlalchemy as sa
from flask import current_app
from flask_login import UserMixin
from sqlalchemy.orm import make_transient_to_detached

from app.core import clock
from app.core.secrets import hash_token
from app.extensions import db
from app.models.base import Base, UtcDateTime
from app.models.login import Session
from app.models.user import User

T = TypeVar("T", bound=Base)


def _row_of(kind: type[Base]) -> Any:
    """A named tuple of a table's columns."""
    return namedtuple(kind.__name__, [column.name for column in kind.__table__.columns])


# Built once: putting a statement together costs more than running it.
_NOW = sa.bindparam("now", type_=UtcDateTime())
LIVING = (Session.token_hash == sa.bindparam("token_hash"), Session.expires_at > _NOW, Session.idle_expires_at > _NOW)
"""What a session must meet to be somebody's; with `token_hash` and `now`."""

_LIVING = sa.select(User.__table__, Session.__table__).join_from(User, Session).where(*LIVING)
_UserRow = _row_of(User)
_SessionRow = _row_of(Session)


class Caller(UserMixin):
    """A person and the session they came with, as they were when the request began.

    `user_row` and `session_row` have the columns as attributes and are enough for whoever only reads: objects of the
    database session cost several times as much.
    """

    def __init__(self, user_row: Any, session_row: Any) -> None:
        self.user_row, self.session_row = user_row, session_row
        self.id: str = user_row.id
        self.email_verified: bool = user_row.email_verified
        self.is_admin: bool = user_row.is_admin

    @cached_property
    def user(self) -> User:
        """The person, as an object of the database session."""
        return _object(User, self.user_row)

    @cached_property
    def session(self) -> Session:
        """Their session, likewise."""
        return _object(Session, self.session_row)


def caller_of(token: str) -> Caller | None:
    """Whose living session the token opens; None for nobody's."""
    given = {"token_hash": hash_token(token), "now": clock.now()}
    with current_app.extensions["reading_engine"].connect() as connection:
        row = connection.execute(_LIVING, given).first()
    if row is None:
        return None
    width = len(_UserRow._fields)
    return Caller(_UserRow._make(row[:width]), _SessionRow._make(row[width:]))


def _object(kind: type[T], row: Any) -> T:
    """The object that a query would have made of the row; the one that is there where it was read already."""
    there: T | None = db.session().identity_map.get(sa.orm.util.identity_key(kind, row.id))
    if there is not None:
        return there
    made = kind(**row._asdict())
    make_transient_to_detached(made)
    db.session.add(made)
    return made
