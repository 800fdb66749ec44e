"""Connecting an account, from the way out to the way back: states that are used once, by the session that made them."""

from base64 import urlsafe_b64encode
from dataclasses import dataclass, field
from datetime import timedelta
from hashlib import sha256

import sqlalchemy as sa

from app.core.errors import Invalid
from app.core.limits import CodeLimits
from app.core.secrets import hash_token, new_token
from app.extensions import db
from app.models.base import moment
from app.models.login import LoginAttempt, Session
from app.models.user import User


class InvalidState(Invalid):
    """The state is not one of this session's, has been used, or is missing where it is needed (400)."""

    code, message = "INVALID_STATE", "This connection was not started here, or too long ago; start again"


@dataclass(frozen=True)
class Attempt:
    """What is sent along on the way out."""

    state: str = field(repr=False)
    verifier: str = field(repr=False)
    redirect_uri: str

    @property
    def challenge(self) -> str:
        """PKCE S256 of the verifier (RFC 7636)."""
        return urlsafe_b64encode(sha256(self.verifier.encode()).digest()).rstrip(b"=").decode()


def begin(redirect_uri: str) -> Attempt:
    """An attempt with fresh secrets."""
    return Attempt(new_token(), new_token(), redirect_uri)


def keep(attempt: Attempt, provider: str, user: User, session: Session, *, limits: CodeLimits) -> None:
    """Keep an attempt until it comes back to the session it left from."""
    db.session.add(
        LoginAttempt(
            state_hash=hash_token(attempt.state),
            browser_hash=hash_token(session.id),
            provider=provider,
            code_verifier=attempt.verifier,
            callback_url=attempt.redirect_uri,
            user_id=user.id,
            expires_at=moment() + timedelta(seconds=limits.state_ttl_s),
        )
    )
    db.session.flush()


def take(state: str | None, provider: str, user: User, session: Session, *, required: bool) -> Attempt | None:
    """Use an attempt up, in a transaction of its own: whatever comes of it, it does not come back.

    Raises:
        InvalidState: it is unknown, used, expired or another session's; or none is given where one is `required`.
    """
    if not state:
        if required:
            raise InvalidState
        return None
    with db.engine.begin() as connection:
        row = connection.execute(
            sa.delete(LoginAttempt)
            .where(
                LoginAttempt.state_hash == hash_token(state),
                LoginAttempt.browser_hash == hash_token(session.id),
                LoginAttempt.user_id == user.id,
                LoginAttempt.provider == provider,
                LoginAttempt.expires_at > moment(),
            )
            .returning(LoginAttempt.code_verifier, LoginAttempt.callback_url)
        ).first()
    if row is None:
        raise InvalidState
    return Attempt(state, row.code_verifier or "", row.callback_url)
