"""The caller of a request, loaded from its session token with one statement."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any, NamedTuple

import sqlalchemy as sa
from flask_login import UserMixin

from app.core import clock
from app.core.api_tokens import TokenGrant
from app.extensions import db
from app.models.base import UtcDateTime
from app.models.login import Session
from app.models.user import User
from app.security.secrets import hash_token

# Built once: the construction of a statement costs more than its execution.
_NOW = sa.bindparam("now", type_=UtcDateTime())
VALID_SESSION = (
    Session.token_hash == sa.bindparam("token_hash"),
    Session.expires_at > _NOW,
    Session.idle_expires_at > _NOW,
)
"""The conditions of a valid session, with the parameters `token_hash` and `now`."""

_SELECT_VALID_SESSION = sa.select(User, Session).join_from(User, Session).where(*VALID_SESSION)


class JoinedTarget(NamedTuple):
    """A statement that reads a user, a session and then a target, and the id of the target."""

    statement: sa.Select[*tuple[Any, ...]]
    target_id: str


class Caller(UserMixin):
    """A user and the session or API token of the request.

    A caller has a session or a `grant`, the rights of its API token. The fields `id`, `email_verified` and `is_admin`
    keep the values that the user had when the request began.
    """

    def __init__(
        self,
        user: User,
        session: Session | None,
        *,
        grant: TokenGrant | None = None,
        token_used_at: datetime | None = None,
    ) -> None:
        self.user, self._session = user, session
        self.grant, self.token_used_at = grant, token_used_at
        self.id: str = user.id
        self.email_verified: bool = user.email_verified
        self.is_admin: bool = user.is_admin

    @property
    def session(self) -> Session:
        """The session. Raises LookupError for the caller of an API token."""
        if self._session is None:
            raise LookupError("an API token has no session")
        return self._session


def caller_of(token: str, target: JoinedTarget | None = None) -> tuple[Caller | None, Sequence[object] | None]:
    """Return the caller of a valid session token, or None, and the values of `target` that the statement also reads."""
    statement: sa.Select[*tuple[Any, ...]]
    statement, parameters = _SELECT_VALID_SESSION, {"token_hash": hash_token(token), "now": clock.now()}
    if target is not None:
        statement, parameters["target_id"] = target
    row = db.session.execute(statement, parameters).first()
    if row is None:
        return None, None
    user, session, *values = row
    return Caller(user, session), None if target is None else values


def is_stored_session(token: str) -> bool:
    """Return whether the session of a token is stored. It may have ended."""
    return bool(db.session.scalar(sa.select(sa.exists().where(Session.token_hash == hash_token(token)))))
