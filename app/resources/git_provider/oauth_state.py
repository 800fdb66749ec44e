"""States of the OAuth flow that connects an account. A state is used once, by the session that created it."""

from base64 import urlsafe_b64encode
from dataclasses import dataclass, field
from datetime import timedelta
from hashlib import sha256

import sqlalchemy as sa

from app.core.errors import InvalidRequest
from app.core.ids import HasId
from app.core.limits import CodeLimits
from app.extensions import db
from app.models.base import utcnow_ms
from app.models.login import LoginAttempt
from app.models.user import User
from app.security.secrets import hash_token, new_token


class InvalidState(InvalidRequest):
    """The state is unknown, used, of another session, or missing although it is required (400)."""

    code, message = "INVALID_STATE", "The state is invalid or expired. Start the connection again"


@dataclass(frozen=True)
class OAuthState:
    """The parameters of an authorization request."""

    state: str = field(repr=False)
    verifier: str = field(repr=False)
    redirect_uri: str

    @property
    def challenge(self) -> str:
        """Return the PKCE S256 challenge of the verifier (RFC 7636)."""
        return urlsafe_b64encode(sha256(self.verifier.encode()).digest()).rstrip(b"=").decode()


def begin(redirect_uri: str) -> OAuthState:
    """Create a state with new secrets."""
    return OAuthState(new_token(), new_token(), redirect_uri)


def store(attempt: OAuthState, provider: str, user: User, session: HasId, *, limits: CodeLimits) -> None:
    """Store a state for the session that started it."""
    db.session.add(
        LoginAttempt(
            state_hash=hash_token(attempt.state),
            browser_hash=hash_token(session.id),
            provider=provider,
            code_verifier=attempt.verifier,
            callback_url=attempt.redirect_uri,
            user_id=user.id,
            expires_at=utcnow_ms() + timedelta(seconds=limits.state_ttl_s),
        )
    )
    db.session.flush()


def redeem(state: str | None, provider: str, user: User, session: HasId, *, required: bool) -> OAuthState | None:
    """Use a state in a separate transaction, so that it stays used if the request fails.

    Raises:
        InvalidState: the state is unknown, used, expired or of another session, or is missing although `required`.
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
                LoginAttempt.expires_at > utcnow_ms(),
            )
            .returning(LoginAttempt.code_verifier, LoginAttempt.callback_url)
        ).first()
    if row is None:
        raise InvalidState
    return OAuthState(state, row.code_verifier or "", row.callback_url)
