"""The rules of signing in at somebody else's: attempts that are used once, and whose account a login opens."""

from dataclasses import dataclass
from datetime import timedelta

import sqlalchemy as sa

from app.core.emails import InvalidEmail, email_key
from app.core.errors import NotAllowed
from app.core.limits import CodeLimits, SessionLimits
from app.core.names import as_name
from app.core.secrets import hash_token, new_token
from app.core.visitor import Visitor
from app.drivers.social_login.port import Attempt, Identity
from app.extensions import db
from app.models.base import moment
from app.models.login import Account, LoginAttempt
from app.models.user import User
from app.resources.auth import codes, service
from app.resources.user import sessions
from app.resources.user.accounts import NAME_LENGTH
from app.resources.user.sessions import Opened

ALIASES = {"github": "social_a", "google": "social_b"}


class SocialRefused(NotAllowed):
    """The login cannot open an account; `code` lower-cased is what the web app is told."""


@dataclass(frozen=True)
class Taken:
    """An attempt that came back to the browser it left from; it cannot come back again."""

    attempt: Attempt
    callback_url: str


def plan(redirect_uri: str) -> Attempt:
    """A new attempt with fresh secrets."""
    return Attempt(new_token(), new_token(), new_token(), redirect_uri)


def keep(attempt: Attempt, provider: str, *, browser: str, callback_url: str, limits: CodeLimits) -> None:
    """Keep an attempt until it comes back; `browser` is the secret in that browser's cookie."""
    db.session.add(
        LoginAttempt(
            state_hash=hash_token(attempt.state),
            browser_hash=hash_token(browser),
            provider=provider,
            code_verifier=attempt.code_verifier,
            nonce=attempt.nonce,
            callback_url=callback_url,
            expires_at=moment() + timedelta(seconds=limits.state_ttl_s),
        )
    )
    db.session.flush()


def take(provider: str, state: str, *, browser: str, redirect_uri: str) -> Taken | None:
    """Use an attempt up; None for an unknown, used, expired or foreign one."""
    row = db.session.execute(
        sa.delete(LoginAttempt)
        .where(
            LoginAttempt.state_hash == hash_token(state),
            LoginAttempt.browser_hash == hash_token(browser),
            LoginAttempt.provider == provider,
            LoginAttempt.expires_at > moment(),
        )
        .returning(LoginAttempt.code_verifier, LoginAttempt.nonce, LoginAttempt.callback_url)
    ).first()
    if row is None:
        return None
    return Taken(Attempt(state, row.code_verifier or "", row.nonce or "", redirect_uri), row.callback_url)


def enter(
    provider: str, identity: Identity, *, visitor: Visitor, session_limits: SessionLimits, code_limits: CodeLimits
) -> Opened:
    """Open a session for whoever the provider says it is.

    Raises:
        SocialRefused: there is no e-mail, or it is another account's and may not be linked.
    """
    user = _known(provider, identity) or _by_email(provider, identity) or _made(provider, identity)
    if not user.email_verified:
        codes.request_code(user.email_key, limits=code_limits, language=visitor.language)
    return sessions.start(user, visitor, limits=session_limits)


def _known(provider: str, identity: Identity) -> User | None:
    """The user this login is linked to; confirmed where the provider vouches for the very e-mail."""
    user = db.session.scalar(
        sa.select(User)
        .join(Account, Account.user_id == User.id)
        .where(Account.provider == provider, Account.subject == identity.subject)
        .with_for_update(of=User)
        .execution_options(populate_existing=True)
    )
    if user is not None and not user.email_verified and identity.email_verified and _key(identity) == user.email_key:
        _take_over(user, but=(provider, identity.subject))
    return user


def _by_email(provider: str, identity: Identity) -> User | None:
    """The user with that e-mail, linked from now on.

    An account that was never verified may be somebody else's: its password, logins and sessions go first.
    """
    user = db.session.scalar(
        sa.select(User)
        .where(User.email_key == _key(identity))
        .with_for_update()
        .execution_options(populate_existing=True)
    )
    if user is None:
        return None
    linked = _linked_subject(user, provider)
    if linked == identity.subject:  # the same person came in another window a moment ago
        return _known(provider, identity)
    if not identity.email_verified or (user.email_verified and linked is not None):
        raise SocialRefused("This e-mail has an account; sign in to it another way", code="ACCOUNT_NOT_LINKED")
    if not user.email_verified:
        _take_over(user)
    db.session.add(Account(user_id=user.id, provider=provider, subject=identity.subject))
    db.session.flush()
    return user


def _made(provider: str, identity: Identity) -> User:
    email, key = identity.email or "", _key(identity)
    name = (as_name(identity.name or "") or email.partition("@")[0])[:NAME_LENGTH]
    user = User(email=email, email_key=key, name=name, provider=provider, email_verified=False)
    db.session.add(user)
    db.session.flush()
    db.session.add(Account(user_id=user.id, provider=provider, subject=identity.subject))
    db.session.flush()
    if identity.email_verified:
        service.confirm(user)
    return user


def _take_over(user: User, *, but: tuple[str, str] | None = None) -> None:
    """Give an unverified account to the owner of its e-mail alone."""
    sessions.end_all(user.id)
    service.drop_ways_in(user, but=but)
    codes.settle(user.email_key)
    service.confirm(user)


def _linked_subject(user: User, provider: str) -> str | None:
    """Who the account's owner is at the provider, where such a login is linked."""
    linked = sa.select(Account.subject).where(Account.user_id == user.id, Account.provider == provider)
    return db.session.scalar(linked)


def _key(identity: Identity) -> str:
    try:
        return email_key(identity.email or "")
    except InvalidEmail as error:
        raise SocialRefused("The login provider tells no e-mail", code="EMAIL_NOT_FOUND") from error
