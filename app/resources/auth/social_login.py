"""Rules of the social login: attempts that are used once, and the account that a login opens."""

from dataclasses import dataclass
from datetime import timedelta

import sqlalchemy as sa

from app.core.client_info import ClientInfo
from app.core.emails import InvalidEmail, email_key
from app.core.errors import PermissionDenied
from app.core.limits import CodeLimits, Limits
from app.drivers.social_login.port import AuthorizationRequest, Identity
from app.extensions import db
from app.models.base import utcnow_ms
from app.models.login import LoginAttempt, SocialAccount
from app.models.user import User
from app.resources.auth import one_time_codes, service
from app.resources.auth.two_factor.challenges import SignedIn, open_session
from app.resources.user import sessions
from app.security.secrets import hash_token, new_token

ALIASES = {"github": "social_a", "google": "social_b"}


class SocialRefused(PermissionDenied):
    """The login cannot open an account. The web app receives the code in lower case."""


@dataclass(frozen=True)
class LoginPages:
    """The pages to which the browser is sent after a login and after a failure. Without `error` it is the web app."""

    success: str
    error: str | None


@dataclass(frozen=True)
class RedeemedState:
    """A login attempt that its browser has completed. It cannot be redeemed again."""

    attempt: AuthorizationRequest
    pages: LoginPages


def create_state(redirect_uri: str) -> AuthorizationRequest:
    """Create an attempt with new secrets."""
    return AuthorizationRequest(new_token(), new_token(), new_token(), redirect_uri)


def store_attempt(
    attempt: AuthorizationRequest, provider: str, *, browser: str, pages: LoginPages, limits: CodeLimits
) -> None:
    """Store an attempt until its callback. `browser` is the secret in the cookie of the browser."""
    db.session.add(
        LoginAttempt(
            state_hash=hash_token(attempt.state),
            browser_hash=hash_token(browser),
            provider=provider,
            code_verifier=attempt.code_verifier,
            nonce=attempt.nonce,
            callback_url=pages.success,
            error_callback_url=pages.error,
            expires_at=utcnow_ms() + timedelta(seconds=limits.state_ttl_s),
        )
    )
    db.session.flush()


def redeem(provider: str, state: str, *, browser: str, redirect_uri: str) -> RedeemedState | None:
    """Delete an attempt and return it. Return None if it is unknown, used, expired or belongs to another browser."""
    row = db.session.execute(
        sa.delete(LoginAttempt)
        .where(
            LoginAttempt.state_hash == hash_token(state),
            LoginAttempt.browser_hash == hash_token(browser),
            LoginAttempt.provider == provider,
            LoginAttempt.expires_at > utcnow_ms(),
        )
        .returning(
            LoginAttempt.code_verifier,
            LoginAttempt.nonce,
            LoginAttempt.callback_url,
            LoginAttempt.error_callback_url,
        )
    ).first()
    if row is None:
        return None
    return RedeemedState(
        AuthorizationRequest(state, row.code_verifier or "", row.nonce or "", redirect_uri),
        LoginPages(row.callback_url, row.error_callback_url),
    )


def sign_in_with_identity(
    provider: str, identity: Identity, *, visitor: ClientInfo, limits: Limits, device: str | None
) -> SignedIn:
    """Open a session for an identity of the provider, or ask for the second factor.

    Raises:
        SocialRefused: the identity has no e-mail address, or the address belongs to an account that cannot be linked.
    """
    user = _known(provider, identity) or _by_email(provider, identity) or _create(provider, identity)
    if not user.email_verified:
        one_time_codes.request_code(user.email_key, limits=limits.codes, language=visitor.language)
    return open_session(user, visitor, device=device, limits=limits)


def _known(provider: str, identity: Identity) -> User | None:
    """Return the linked user. Verify the user if the provider confirms the same e-mail address."""
    user = db.session.scalar(
        sa.select(User)
        .join(SocialAccount, SocialAccount.user_id == User.id)
        .where(SocialAccount.provider == provider, SocialAccount.subject == identity.subject)
        .with_for_update(of=User)
        .execution_options(populate_existing=True)
    )
    if user is not None and not user.email_verified and identity.email_verified and _key(identity) == user.email_key:
        _take_over(user, but=(provider, identity.subject))
    return user


def _by_email(provider: str, identity: Identity) -> User | None:
    """Return the user with the e-mail address and link the login.

    An unverified account may belong to another person. Its password, social accounts and sessions are removed first.
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
    if linked == identity.subject:  # Another window of the same person linked it.
        return _known(provider, identity)
    if not identity.email_verified or (user.email_verified and linked is not None):
        raise SocialRefused("This e-mail address has an account. Use another sign-in method", code="ACCOUNT_NOT_LINKED")
    if not user.email_verified:
        _take_over(user)
    db.session.add(SocialAccount(user_id=user.id, provider=provider, subject=identity.subject))
    db.session.flush()
    return user


def _create(provider: str, identity: Identity) -> User:
    email, key = identity.email or "", _key(identity)
    try:
        service.check_sign_up(key)
    except service.SignUpClosed as error:
        raise SocialRefused(error.message, code="SIGN_UP_CLOSED") from error
    name = service.display_name(identity.name, email)
    user = User(email=email, email_key=key, name=name, provider=provider, email_verified=False)
    db.session.add(user)
    db.session.flush()
    db.session.add(SocialAccount(user_id=user.id, provider=provider, subject=identity.subject))
    db.session.flush()
    if identity.email_verified:
        service.confirm(user)
    return user


def _take_over(user: User, *, but: tuple[str, str] | None = None) -> None:
    """Give an unverified account to the owner of its e-mail address."""
    sessions.end_all(user.id)
    service.remove_credentials(user, but=but)
    one_time_codes.clear_contested(user.email_key)
    service.confirm(user)


def _linked_subject(user: User, provider: str) -> str | None:
    """Return the subject of the linked social account of a provider, or None."""
    linked = sa.select(SocialAccount.subject).where(
        SocialAccount.user_id == user.id, SocialAccount.provider == provider
    )
    return db.session.scalar(linked)


def _key(identity: Identity) -> str:
    try:
        return email_key(identity.email or "")
    except InvalidEmail as error:
        raise SocialRefused("The login provider returned no e-mail address", code="EMAIL_NOT_FOUND") from error
