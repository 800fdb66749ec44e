"""Rows of passkeys and of their challenges. A challenge belongs to one browser and is used once."""

import base64
import secrets
from collections.abc import Sequence
from datetime import timedelta
from typing import Any, Literal

import sqlalchemy as sa
import structlog
from webauthn.authentication.verify_authentication_response import VerifiedAuthentication
from webauthn.helpers import bytes_to_base64url
from webauthn.registration.verify_registration_response import VerifiedRegistration

from app.core.errors import (
    ErrorMessage,
    InvalidRequest,
    LimitReached,
    NotAuthenticated,
    NotFound,
    SecondFactorRequired,
)
from app.core.ids import new_id
from app.database.inserts import insert_or_ignore
from app.extensions import db
from app.models.base import utcnow_ms
from app.models.login import LoginAttempt, Passkey
from app.resources.auth.passkeys.verification import AuthenticationFailed, Descriptor, is_synced, user_handle
from app.resources.user.locks import lock_user
from app.security.secrets import hash_token

MAX_PASSKEYS_PER_USER = 25
CHALLENGE_BYTES = 32
Purpose = Literal["passkey_sign_in", "passkey_new"]

log = structlog.get_logger(__name__)


class UnknownChallenge(InvalidRequest):
    """The challenge is unknown, used, expired, or belongs to another browser, user or purpose (400)."""

    code, message = "CHALLENGE_NOT_FOUND", ErrorMessage("The request for the passkey is no longer valid. Try again")


class PreviouslyRegistered(InvalidRequest):
    """The credential belongs to an account already (400)."""

    code, message = "PREVIOUSLY_REGISTERED", ErrorMessage("This passkey is registered already")


class UnknownPasskey(NotAuthenticated):
    """A sign-in with a credential that belongs to no account (401)."""

    code, message = "PASSKEY_NOT_FOUND", ErrorMessage("No account has this passkey. It may have been deleted")


def create_challenge(purpose: Purpose, *, browser: str, ttl_s: int, user_id: str | None = None) -> bytes:
    """Store a challenge for a browser and return it. `user_id` is the owner of a new passkey."""
    challenge = secrets.token_bytes(CHALLENGE_BYTES)
    db.session.add(
        LoginAttempt(
            state_hash=_hash(challenge),
            browser_hash=hash_token(browser),
            provider=purpose,
            callback_url="",
            user_id=user_id,
            expires_at=utcnow_ms() + timedelta(seconds=ttl_s),
        )
    )
    db.session.flush()
    return challenge


def use_challenge(challenge: bytes | None, purpose: Purpose, *, browser: str, user_id: str | None = None) -> bytes:
    """Delete a challenge, so that no other request can use it, and return it.

    Raises:
        UnknownChallenge: it is unknown, used or expired, or belongs to another browser, user or purpose.
    """
    owner = LoginAttempt.user_id.is_(None) if user_id is None else LoginAttempt.user_id == user_id
    statement = sa.delete(LoginAttempt).where(
        LoginAttempt.state_hash == _hash(challenge or b""),
        LoginAttempt.browser_hash == hash_token(browser),
        LoginAttempt.provider == purpose,
        owner,
        LoginAttempt.expires_at > utcnow_ms(),
    )
    if challenge is None or db.session.execute(statement.returning(LoginAttempt.id)).first() is None:
        raise UnknownChallenge
    return challenge


def _hash(challenge: bytes) -> str:
    return hash_token(bytes_to_base64url(challenge))


def of_user(user_id: str) -> Sequence[Passkey]:
    """Return the passkeys of a user, oldest first."""
    return db.session.scalars(sa.select(Passkey).where(Passkey.user_id == user_id).order_by(Passkey.id)).all()


def descriptors_of(user_id: str) -> list[Descriptor]:
    """Return the credentials of a user for a browser."""
    return [Descriptor(row.credential_id, row.transports) for row in of_user(user_id)]


def check_set_up(user_id: str, *, is_factor_missing: bool) -> None:
    """Refuse a new factor in a session that has not proved the factor which an organization requires.

    A person who knows the password only must not set up a second factor of their own.

    Raises:
        SecondFactorRequired: the user has a passkey.
    """
    if is_factor_missing and of_user(user_id):
        raise SecondFactorRequired


def count_unusable(connection: sa.Connection, rp_id: str) -> int:
    """Return the number of passkeys that were made for another domain."""
    return connection.scalar(sa.select(sa.func.count()).where(Passkey.rp_id != rp_id)) or 0


def add(
    user_id: str, verified: VerifiedRegistration, *, rp_id: str, name: str | None, transports: Sequence[str]
) -> Passkey:
    """Store a verified credential.

    Raises:
        AccountDeleted: another request deleted the account.
        LimitReached: the user has the largest number of passkeys.
        PreviouslyRegistered: the credential belongs to an account already.
    """
    lock_user(user_id)
    if len(of_user(user_id)) >= MAX_PASSKEYS_PER_USER:
        raise LimitReached
    now = utcnow_ms()
    values: dict[str, Any] = {
        "id": new_id("pky"),
        "user_id": user_id,
        "name": name,
        "rp_id": rp_id,
        "credential_id": bytes_to_base64url(verified.credential_id),
        "public_key": base64.b64encode(verified.credential_public_key).decode(),
        "counter": verified.sign_count,
        "is_synced": is_synced(verified),
        "backed_up": verified.credential_backed_up,
        "transports": list(transports),
        "aaguid": verified.aaguid,
        "created_at": now,
        "updated_at": now,
    }
    statement = insert_or_ignore(db.session.connection().dialect.name, Passkey, values, unique=["credential_id"])
    if db.session.scalar(statement.returning(Passkey.id)) is None:
        raise PreviouslyRegistered
    log.info("passkey.registered", user_id=user_id, passkey_id=values["id"], is_synced=values["is_synced"])
    return db.session.get_one(Passkey, values["id"])


def find_by_credential(credential_id: object, handle: object, *, owner_id: str | None = None) -> Passkey:
    """Return the passkey with a credential id, of the user whose handle the authenticator reports, and of `owner_id`.

    Raises:
        UnknownPasskey: there is none.
        AuthenticationFailed: it belongs to another user.
    """
    row = None
    if isinstance(credential_id, str):
        row = db.session.scalar(sa.select(Passkey).where(Passkey.credential_id == credential_id))
    if row is None:
        raise UnknownPasskey
    if handle not in (None, user_handle(row.user_id)) or owner_id not in (None, row.user_id):
        raise AuthenticationFailed
    return row


def record_use(passkey_id: str, verified: VerifiedAuthentication) -> None:
    """Store the counter that an authenticator reports. The user of the passkey is locked.

    A counter that does not grow can mean that the key was copied. Synced passkeys may report old counters.

    Raises:
        UnknownPasskey: another request deleted the passkey.
        AuthenticationFailed: the counter of a device-bound key did not grow, or a key has become a synced one.
    """
    row = db.session.get(Passkey, passkey_id, with_for_update=True, populate_existing=True)
    if row is None:
        raise UnknownPasskey
    reported = verified.new_sign_count
    is_regression = (reported > 0 or row.counter > 0) and reported <= row.counter
    if is_regression:
        log.warning(
            "passkey.counter_regressed",
            user_id=row.user_id,
            passkey_id=row.id,
            stored=row.counter,
            reported=reported,
            is_synced=row.is_synced,
        )
    if is_synced(verified) != row.is_synced or (is_regression and not row.is_synced):
        raise AuthenticationFailed
    row.counter, row.backed_up = max(row.counter, reported), verified.credential_backed_up
    row.last_used_at = utcnow_ms()
    db.session.flush()


def rename(user_id: str, passkey_id: str, name: str) -> Passkey:
    """Change the name of a passkey of a user. Raises NotFound."""
    row = _own(user_id, passkey_id)
    row.name = name
    db.session.flush()
    return row


def delete(user_id: str, passkey_id: str) -> None:
    """Delete a passkey of a user. Raises NotFound."""
    db.session.delete(_own(user_id, passkey_id))
    db.session.flush()
    log.info("passkey.deleted", user_id=user_id, passkey_id=passkey_id)


def delete_all(user_id: str) -> bool:
    """Delete the passkeys of a user and return whether there were some."""
    deleted = db.session.scalars(sa.delete(Passkey).where(Passkey.user_id == user_id).returning(Passkey.id)).all()
    if deleted:
        log.info("passkey.all_deleted", user_id=user_id, count=len(deleted))
    return bool(deleted)


def _own(user_id: str, passkey_id: str) -> Passkey:
    statement = sa.select(Passkey).where(Passkey.id == passkey_id, Passkey.user_id == user_id).with_for_update()
    row = db.session.scalar(statement)
    if row is None:
        raise NotFound("The passkey does not exist", code="PASSKEY_NOT_FOUND")
    return row
