"""Sign-ins that wait for the second factor, and the browsers in which a user signs in without it."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

import sqlalchemy as sa

from app.core.client_info import ClientInfo
from app.core.limits import CodeLimits, Limits
from app.extensions import db
from app.models.base import utcnow_ms
from app.models.second_factor import SecondFactorChallenge, TrustedDevice
from app.models.user import User
from app.resources.auth.two_factor.errors import InvalidChallenge
from app.resources.auth.two_factor.service import FactorMethod, factor_of, methods_of
from app.resources.user import sessions
from app.resources.user.sessions import AGENT_LENGTH, OpenedSession
from app.security.secrets import hash_token, new_token


@dataclass(frozen=True)
class StartedChallenge:
    """A sign-in that waits for the second factor. The cookie carries `token`, which is not stored."""

    token: str
    max_age_s: int
    methods: list[FactorMethod]
    is_challenge: bool = True


SignedIn = OpenedSession | StartedChallenge


def open_session(
    user: User,
    visitor: ClientInfo,
    *,
    device: str | None,
    limits: Limits,
    remember: bool = True,
) -> SignedIn:
    """Open a session for a locked user who has proved the first factor, or start a challenge.

    `device` is the token in the cookie of a trusted device.
    """
    if not user.two_factor_enabled:
        return sessions.start(user, visitor, limits=limits.sessions, remember=remember)
    if device is not None and _use_device(user, device):
        return sessions.start(user, visitor, limits=limits.sessions, remember=remember, has_second_factor=True)
    token, ttl_s = new_token(), limits.codes.challenge_ttl_s
    expires_at = utcnow_ms() + timedelta(seconds=ttl_s)
    db.session.add(
        SecondFactorChallenge(user_id=user.id, token_hash=hash_token(token), remember=remember, expires_at=expires_at)
    )
    db.session.flush()
    return StartedChallenge(token, ttl_s, methods_of(factor_of(user.id)))


def find(token: str | None) -> SecondFactorChallenge | None:
    """Return the challenge of a token that has not expired, or None."""
    if token is None:
        return None
    valid = SecondFactorChallenge.token_hash == hash_token(token), SecondFactorChallenge.expires_at > utcnow_ms()
    return db.session.scalar(sa.select(SecondFactorChallenge).where(*valid))


def consume(challenge_id: str) -> bool:
    """Use a challenge and return whether the session ends later than the browser.

    Raises:
        InvalidChallenge: another request used the challenge, or it has expired.
    """
    remember: bool | None = db.session.scalar(
        sa.delete(SecondFactorChallenge)
        .where(SecondFactorChallenge.id == challenge_id, SecondFactorChallenge.expires_at > utcnow_ms())
        .returning(SecondFactorChallenge.remember)
    )
    if remember is None:
        raise InvalidChallenge
    return remember


def trust_device(user: User, visitor: ClientInfo, *, limits: CodeLimits) -> str:
    """Trust the browser of a user and return the token of its cookie. Beyond the limit the oldest device ends."""
    token, now = new_token(), utcnow_ms()
    for device in devices_of(user.id)[limits.trusted_devices - 1 :]:
        db.session.delete(device)
    db.session.add(
        TrustedDevice(
            user_id=user.id,
            token_hash=hash_token(token),
            ip_address=visitor.address,
            user_agent=visitor.agent[:AGENT_LENGTH] if visitor.agent else None,
            expires_at=now + timedelta(seconds=limits.trusted_device_s),
            last_used_at=now,
        )
    )
    db.session.flush()
    return token


def devices_of(user_id: str) -> Sequence[TrustedDevice]:
    """Return the trusted devices of a user, newest first."""
    return db.session.scalars(
        sa.select(TrustedDevice)
        .where(TrustedDevice.user_id == user_id, TrustedDevice.expires_at > utcnow_ms())
        .order_by(TrustedDevice.created_at.desc(), TrustedDevice.id.desc())
    ).all()


def end_device(user_id: str, device_id: str) -> None:
    """End a trusted device of a user. An unknown id is ignored."""
    db.session.execute(sa.delete(TrustedDevice).where(TrustedDevice.user_id == user_id, TrustedDevice.id == device_id))


def _use_device(user: User, token: str) -> bool:
    """Record the use of a trusted device and return whether the token belongs to one of the user."""
    used = db.session.scalar(
        sa.update(TrustedDevice)
        .where(TrustedDevice.token_hash == hash_token(token), TrustedDevice.user_id == user.id)
        .where(TrustedDevice.expires_at > utcnow_ms())
        .values(last_used_at=utcnow_ms())
        .returning(TrustedDevice.id)
    )
    return used is not None
