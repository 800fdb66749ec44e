"""Rows of sessions: start, new token and end. `app.access.authentication` handles the cookie."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

import sqlalchemy as sa

from app.core.client_info import ClientInfo
from app.core.errors import PermissionDenied
from app.core.limits import SessionLimits
from app.extensions import db
from app.models.base import utcnow_ms
from app.models.login import Session
from app.models.second_factor import SecondFactorChallenge, TrustedDevice
from app.models.user import User
from app.resources.user.locks import lock_user
from app.security.secrets import hash_token, new_token

AGENT_LENGTH = 512


@dataclass(frozen=True)
class OpenedSession:
    """A session with its token, which is not stored. `max_age_s` None ends the session with the browser."""

    user: User
    session: Session
    token: str
    max_age_s: int | None


def start(
    user: User,
    visitor: ClientInfo,
    *,
    limits: SessionLimits,
    remember: bool = True,
    has_second_factor: bool = False,
) -> OpenedSession:
    """Open a session. If the user then has more than `limits.per_user` sessions, end the oldest.

    `has_second_factor` means that the user has proved a second factor, or a passkey with user verification.

    Raises:
        AccountDeleted: another request deleted the account.
        PermissionDenied: the user has a second factor, which was not proved.
    """
    if lock_user(user.id).two_factor_enabled and not has_second_factor:
        raise PermissionDenied(code="SECOND_FACTOR_REQUIRED")
    token, now = new_token(), utcnow_ms()
    lifetime = timedelta(seconds=limits.absolute_s if remember else limits.short_s)
    _delete_oldest(user, limits.per_user - 1)
    session = Session(
        user_id=user.id,
        token_hash=hash_token(token),
        expires_at=now + lifetime,
        idle_expires_at=now + min(lifetime, timedelta(seconds=limits.idle_s)),
        last_seen_at=now,
        second_factor_at=now if has_second_factor else None,
        remember=remember,
        ip_address=visitor.address,
        user_agent=visitor.agent[:AGENT_LENGTH] if visitor.agent else None,
    )
    db.session.add(session)
    db.session.flush()
    return OpenedSession(user, session, token, limits.absolute_s if remember else None)


def renew(session_id: str, user: User, *, limits: SessionLimits) -> OpenedSession:
    """Give a session a new token. The old token becomes invalid."""
    token, session = new_token(), db.session.get_one(Session, session_id)
    session.token_hash = hash_token(token)
    db.session.flush()
    return OpenedSession(user, session, token, limits.absolute_s if session.remember else None)


def confirm(session_id: str, *, has_second_factor: bool) -> datetime:
    """Record that the user of a session proved the identity again. Return the time."""
    now = utcnow_ms()
    values = {"reauthenticated_at": now} | ({"second_factor_at": now} if has_second_factor else {})
    db.session.execute(sa.update(Session).where(Session.id == session_id).values(values))
    return now


def of_user(user_id: str) -> Sequence[Session]:
    """Return the valid sessions of a user, newest first."""
    now = utcnow_ms()
    return db.session.scalars(
        sa.select(Session)
        .where(Session.user_id == user_id, Session.expires_at > now, Session.idle_expires_at > now)
        .order_by(Session.created_at.desc(), Session.id.desc())
    ).all()


def end(user_id: str, session_id: str) -> None:
    """End one session of a user. An unknown id is ignored."""
    db.session.execute(sa.delete(Session).where(Session.user_id == user_id, Session.id == session_id))


def end_all(user_id: str, *, but: str | None = None) -> None:
    """End all sessions of a user except the one with the id `but`.

    Sign-ins that wait for the second factor and the trust in browsers end as well.
    """
    statement = sa.delete(Session).where(Session.user_id == user_id)
    db.session.execute(statement if but is None else statement.where(Session.id != but))
    for table in (SecondFactorChallenge, TrustedDevice):
        db.session.execute(sa.delete(table).where(table.user_id == user_id))


def _delete_oldest(user: User, remaining: int) -> None:
    oldest = (
        sa.select(Session.id)
        .where(Session.user_id == user.id)
        .order_by(Session.created_at.desc(), Session.id.desc())
        .limit(-1 if db.engine.dialect.name == "sqlite" else None)
        .offset(remaining)
    )
    db.session.execute(sa.delete(Session).where(Session.id.in_(oldest)))
