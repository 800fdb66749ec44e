"""The caller of a request, loaded from the session token or API token with one statement as plain values."""

from collections import namedtuple
from collections.abc import Iterable, Sequence
from datetime import datetime
from functools import cached_property
from typing import Any, NamedTuple, TypeVar

import sqlalchemy as sa
from flask import current_app
from flask_login import UserMixin
from sqlalchemy.orm import make_transient_to_detached

from app.core import clock
from app.core.api_tokens import TokenGrant
from app.database.transactions import in_write_transaction
from app.extensions import db
from app.models.base import Base, UtcDateTime
from app.models.login import Session
from app.models.user import User
from app.security.secrets import hash_token

T = TypeVar("T", bound=Base)


def row_type(kind: type[Base]) -> Any:
    """Return a named tuple type with the columns of a table."""
    return namedtuple(kind.__name__, [column.name for column in kind.__table__.columns])


# Built once: the construction of a statement costs more than its execution.
_NOW = sa.bindparam("now", type_=UtcDateTime())
VALID_SESSION = (
    Session.token_hash == sa.bindparam("token_hash"),
    Session.expires_at > _NOW,
    Session.idle_expires_at > _NOW,
)
"""The conditions of a valid session, with the parameters `token_hash` and `now`."""

SESSION_COLUMNS = (*User.__table__.columns, *Session.__table__.columns)
"""The columns of a session with its user, with which `caller_of` expects a statement to begin."""

_SELECT_VALID_SESSION = sa.select(*SESSION_COLUMNS).join_from(User, Session).where(*VALID_SESSION)
_UserRow = row_type(User)
_SessionRow = row_type(Session)


class JoinedTarget(NamedTuple):
    """A statement that reads `SESSION_COLUMNS` and then the columns of a target, and the id of the target."""

    statement: sa.Select[Any]
    target_id: str


class Caller(UserMixin):
    """A user and the session or API token of the request, as they were when the request began.

    `user_row` and `session_row` have the columns as attributes. Objects of the database session cost several times as
    much, so they are created on first access. A caller has a session or a `grant`, the rights of its API token.
    """

    def __init__(
        self,
        user_row: Any,
        session_row: Any,
        *,
        grant: TokenGrant | None = None,
        token_used_at: datetime | None = None,
    ) -> None:
        self.user_row, self.session_row = user_row, session_row
        self.grant, self.token_used_at = grant, token_used_at
        self.id: str = user_row.id
        self.email_verified: bool = user_row.email_verified
        self.is_admin: bool = user_row.is_admin

    @cached_property
    def user(self) -> User:
        """The user as an object of the database session."""
        return object_of(User, self.user_row)

    @cached_property
    def session(self) -> Session:
        """The session as an object of the database session. Raises LookupError for the caller of an API token."""
        if self.session_row is None:
            raise LookupError("an API token has no session")
        return object_of(Session, self.session_row)


def caller_of(token: str, target: JoinedTarget | None = None) -> tuple[Caller | None, Sequence[Any] | None]:
    """Return the caller of a valid session token, or None, and the values of `target` that the statement also reads."""
    statement, parameters = _SELECT_VALID_SESSION, {"token_hash": hash_token(token), "now": clock.now()}
    if target is not None:
        statement, parameters["target_id"] = target
    with current_app.extensions["reading_engine"].connect() as connection:
        row = connection.execute(statement, parameters).first()
    if row is None:
        return None, None
    width, end = len(_UserRow._fields), len(SESSION_COLUMNS)
    caller = Caller(_UserRow._make(row[:width]), _SessionRow._make(row[width:end]))
    return caller, None if target is None else row[end:]


def is_stored_session(token: str) -> bool:
    """Return whether the session of a token is stored. It may have ended."""
    statement = sa.select(sa.exists().where(Session.token_hash == hash_token(token)))
    with current_app.extensions["reading_engine"].connect() as connection:
        return bool(connection.scalar(statement))


def user_columns() -> list[Any]:
    """Return the columns of a user in the order that `caller_of_rows` expects."""
    return list(User.__table__.columns)


def caller_of_rows(user: Iterable[Any], *, grant: TokenGrant, last_used_at: datetime | None) -> Caller:
    """Return the caller of an API token from the values of `user_columns`."""
    return Caller(_UserRow._make(user), None, grant=grant, token_used_at=last_used_at)


def object_of(kind: type[T], row: Any) -> T:
    """Return the object of a row: the loaded one, or a new persistent one without a query.

    In a transaction the new object is expired, so that its first use reads the row again.
    """
    loaded: T | None = db.session().identity_map.get(sa.orm.util.identity_key(kind, row.id))
    if loaded is not None:
        return loaded
    instance = kind(**row._asdict())
    make_transient_to_detached(instance)
    db.session.add(instance)
    if in_write_transaction():
        db.session.expire(instance)  # the row was read before the transaction
    return instance
