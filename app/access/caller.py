"""The caller of a request, loaded from its session token with one statement."""

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, MISSING, dataclass, fields
from datetime import datetime
from typing import Any, NamedTuple

import sqlalchemy as sa
from flask import current_app
from flask_login import UserMixin
from sqlalchemy.orm import InstrumentedAttribute, aliased

from app.core import clock
from app.core.api_tokens import TokenGrant
from app.extensions import db
from app.models.base import Base, UtcDateTime
from app.models.login import Session
from app.models.organization import Membership, Organization
from app.models.user import User
from app.security.secrets import hash_token

# Built once: the construction of a statement costs more than its execution.
_NOW = sa.bindparam("now", type_=UtcDateTime())


@dataclass(frozen=True)
class CallerSession:
    """A session of a browser, as it was when the request began."""

    id: str
    user_id: str
    created_at: datetime
    updated_at: datetime
    expires_at: datetime
    last_seen_at: datetime
    second_factor_at: datetime | None
    reauthenticated_at: datetime | None
    remember: bool
    ip_address: str | None
    user_agent: str | None

    @property
    def authenticated_at(self) -> datetime:
        """The time at which the user last proved the identity: of the sign-in, or later."""
        return self.reauthenticated_at or self.created_at


@dataclass(frozen=True, eq=False)
class Caller(UserMixin):
    """A user with the session or API token of the request, as they were when the request began.

    A caller has a session or a `grant`, the rights of its API token. A change needs the row: `Scope.user` reads it.
    `needs_second_factor` is true if an organization of the user requires a second factor, and the session has proved
    none. The caller of an API token has it if the user has a second factor.
    """

    id: str
    email: str
    email_verified: bool
    name: str
    image: str | None
    country: str | None
    subscribed: bool
    is_admin: bool
    provider: str
    two_factor_enabled: bool
    created_at: datetime
    updated_at: datetime
    _: KW_ONLY
    needs_second_factor: bool = False
    optional_session: CallerSession | None = None
    grant: TokenGrant | None = None
    token_used_at: datetime | None = None

    @property
    def session(self) -> CallerSession:
        """The session. Raises LookupError for the caller of an API token."""
        if self.optional_session is None:
            raise LookupError("an API token has no session")
        return self.optional_session


def _columns_of(values: type[Any], model: type[Base]) -> list[InstrumentedAttribute[Any]]:
    """Return the columns of the required fields of a dataclass, in their order."""
    return [getattr(model, field.name) for field in fields(values) if field.default is MISSING]


# Columns: objects of the database session cost several times as much.
USER_COLUMNS = _columns_of(Caller, User)
_SESSION_COLUMNS = _columns_of(CallerSession, Session)
_SESSION_START, _REQUIREMENT = len(USER_COLUMNS), len(USER_COLUMNS) + len(_SESSION_COLUMNS)
_TARGET_START = _REQUIREMENT + 1


def needs_second_factor(is_proved: sa.ColumnElement[bool]) -> sa.ColumnElement[bool]:
    """Return the condition that an organization of the user requires a second factor that is not proved.

    Its parameter is `now`. The database reads the organizations only if `is_proved` is false.
    """
    membership, organization = aliased(Membership), aliased(Organization)
    required = sa.exists().where(
        membership.user_id == User.id,
        organization.id == membership.organization_id,
        organization.second_factor_from <= _NOW,
    )
    return sa.case((is_proved, sa.false()), else_=required)


SELECT_VALID_SESSION = (
    sa.select(*USER_COLUMNS, *_SESSION_COLUMNS, needs_second_factor(Session.second_factor_at.is_not(None)))
    .select_from(User)
    .join(Session, Session.user_id == User.id)
).where(Session.token_hash == sa.bindparam("token_hash"), Session.expires_at > _NOW, Session.idle_expires_at > _NOW)
"""The statement that reads a valid session with its user, with the parameters `token_hash` and `now`."""


class JoinedTarget(NamedTuple):
    """`SELECT_VALID_SESSION` with the columns of a target, and the id of the target."""

    statement: sa.Select[*tuple[Any, ...]]
    target_id: str


def caller_of(token: str, target: JoinedTarget | None = None) -> tuple[Caller | None, Sequence[object] | None]:
    """Return the caller of a valid session token, or None, and the values of `target` that the statement also reads."""
    statement, parameters = SELECT_VALID_SESSION, {"token_hash": hash_token(token), "now": clock.now()}
    if target is None:
        row = read_row(statement, parameters)
    else:
        statement, parameters["target_id"] = target
        row = db.session.execute(statement, parameters).first()
    if row is None:
        return None, None
    session = CallerSession(*row[_SESSION_START:_REQUIREMENT])
    caller = Caller(*row[:_SESSION_START], optional_session=session, needs_second_factor=bool(row[_REQUIREMENT]))
    return caller, None if target is None else row[_TARGET_START:]


def read_row(statement: sa.Select[*tuple[Any, ...]], parameters: Mapping[str, object]) -> Sequence[Any] | None:
    """Return the first row. The statement creates no database session, because many requests need none."""
    with current_app.extensions["reading_engine"].connect() as connection:
        row: Sequence[Any] | None = connection.execute(statement, parameters).first()
        return row


def is_stored_session(token: str) -> bool:
    """Return whether the session of a token is stored. It may have ended."""
    return bool(db.session.scalar(sa.select(sa.exists().where(Session.token_hash == hash_token(token)))))
