"""Sessions: how one starts, gets a new token and ends. Knows the table; the cookie is `app.http.login`'s."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

import sqlalchemy as sa

from app.core.limits import SessionLimits
from app.core.secrets import hash_token, new_token
from app.core.visitor import Visitor
from app.extensions import db
from app.models.base import moment
from app.models.login import Session
from app.models.user import User

AGENT_LENGTH = 512


@dataclass(frozen=True)
class Opened:
    """A session and the token that opens it, which exists nowhere else; `max_age_s` None ends with the browser."""

    user: User
    token: str
    max_age_s: int | None


def start(user: User, visitor: Visitor, *, limits: SessionLimits, remember: bool = True) -> Opened:
    """Open a session; of more than `limits.a_user`, the oldest end."""
    _lock(user)
    token, now = new_token(), moment()
    lasts = timedelta(seconds=limits.absolute_s if remember else limits.short_s)
    _make_room(user, limits.a_user - 1)
    db.session.add(
        Session(
            user_id=user.id,
            token_hash=hash_token(token),
            expires_at=now + lasts,
            idle_expires_at=now + min(lasts, timedelta(seconds=limits.idle_s)),
            last_seen_at=now,
            remember=remember,
            ip_address=visitor.address,
            user_agent=visitor.agent[:AGENT_LENGTH] if visitor.agent else None,
        )
    )
    db.session.flush()
    return Opened(user, token, limits.absolute_s if remember else None)


def renew(session: Session, user: User, *, limits: SessionLimits) -> Opened:
    """Give a session a new token; the old one opens nothing any more."""
    token = new_token()
    session.token_hash = hash_token(token)
    db.session.flush()
    return Opened(user, token, limits.absolute_s if session.remember else None)


def of_user(user_id: str) -> Sequence[Session]:
    """The sessions of a user that still open something, the latest first."""
    now = moment()
    return db.session.scalars(
        sa.select(Session)
        .where(Session.user_id == user_id, Session.expires_at > now, Session.idle_expires_at > now)
        .order_by(Session.created_at.desc(), Session.id.desc())
    ).all()


def end(user_id: str, session_id: str) -> None:
    """End one session of a user; none of that id is no error."""
    db.session.execute(sa.delete(Session).where(Session.user_id == user_id, Session.id == session_id))


def end_all(user_id: str, *, but: str | None = None) -> None:
    """End every session of a user, save the one with the id `but`."""
    wanted = sa.delete(Session).where(Session.user_id == user_id)
    db.session.execute(wanted if but is None else wanted.where(Session.id != but))


def _lock(user: User) -> None:
    """Let sign-ins of one user count their sessions one after another."""
    db.session.execute(sa.select(User.id).where(User.id == user.id).with_for_update(key_share=True))


def _make_room(user: User, kept: int) -> None:
    oldest = (
        sa.select(Session.id)
        .where(Session.user_id == user.id)
        .order_by(Session.created_at.desc(), Session.id.desc())
        .limit(-1 if db.engine.dialect.name == "sqlite" else None)
        .offset(kept)
    )
    db.session.execute(sa.delete(Session).where(Session.id.in_(oldest)))
