"""Rules of the second factor: set-up, codes of an app or a mail, backup codes and removal."""

import base64
import hmac
import secrets
from enum import StrEnum

import pyotp
import sqlalchemy as sa

from app.core import clock
from app.core.limits import CodeLimits
from app.extensions import db, keyring
from app.models.base import utcnow_ms
from app.models.login import Session
from app.models.second_factor import BackupCode, SecondFactor, SecondFactorChallenge, TrustedDevice
from app.models.user import User
from app.resources.auth.one_time_codes import hash_of
from app.resources.auth.passkeys import service as passkeys
from app.resources.auth.two_factor import errors
from app.resources.user import sessions
from app.resources.user.mail import notify
from app.security.secrets import SecretFields, associated_data

ISSUER = "Galley"
STEP_S, WINDOW, DIGITS = 30, 1, 6
GROUPS, GROUP_LENGTH = 3, 5
FEW_CODES = 2
FIELD = "totp"
SECRETS: SecretFields = (SecondFactor, (FIELD,))


class FactorMethod(StrEnum):
    """A second factor: codes of an authenticator app, or codes by mail."""

    TOTP = "totp"
    OTP = "otp"


def factor_of(user_id: str) -> SecondFactor | None:
    """Return the second factor of a user, or its set-up that has not ended."""
    return db.session.scalar(
        sa.select(SecondFactor).where(SecondFactor.user_id == user_id).execution_options(populate_existing=True)
    )


def methods_of(factor: SecondFactor | None) -> list[FactorMethod]:
    """Return the factors with which a user can sign in."""
    if factor is None:
        return []
    active = {FactorMethod.TOTP: factor.confirmed_at is not None, FactorMethod.OTP: factor.uses_mail}
    return [method for method, is_active in active.items() if is_active]


def is_waiting(factor: SecondFactor | None, session_id: str | None) -> bool:
    """Return whether a session has set up an authenticator app that no code has confirmed yet."""
    if factor is None or factor.totp_secret is None or factor.confirmed_at is not None:
        return False
    return session_id is not None and factor.prepared_in == session_id


def prepare_app(user: User, session_id: str, *, limits: CodeLimits) -> tuple[str, list[str]]:
    """Store a new secret of an authenticator app until a code confirms it. Return its URI and new backup codes.

    Other sessions cannot read or confirm it: another person could know it.

    Raises:
        AppAlreadyEnabled: the user has an authenticator app.
    """
    factor = ensure(user)
    if factor.confirmed_at is not None:
        raise errors.AppAlreadyEnabled
    secret = pyotp.random_base32()
    factor.totp_secret, factor.last_step = keyring.encrypt(secret, aad=_aad(factor)), None
    factor.prepared_in = session_id
    return _uri(user, secret), replace_backup_codes(user.id, limits=limits)


def choose_mail(user: User, session_id: str, *, limits: CodeLimits) -> list[str]:
    """Use codes by mail as a second factor. Return backup codes if the user has none."""
    ensure(user).uses_mail = True
    _activate(user, session_id)
    return [] if remaining_codes(user.id) else replace_backup_codes(user.id, limits=limits)


def app_uri(user: User, session_id: str) -> tuple[str, str]:
    """Return the URI of the secret, which authenticator apps read, and the secret.

    Raises:
        AppNotEnabled: the user has no secret, or another session has set it up and not confirmed it.
    """
    secret = _secret(factor_of(user.id), session_id)
    return _uri(user, secret), secret


def use_app_code(user: User, code: str, *, session_id: str | None) -> None:
    """Use a code of the authenticator app. In the session that has set it up, the first one confirms the set-up.

    Each time step counts once, and the steps only rise.

    Raises:
        AppNotEnabled: the user has no authenticator app.
        InvalidFactorCode: the code is wrong or was used.
    """
    factor = factor_of(user.id)
    step = _step_of(code, _secret(factor, session_id))
    if factor is None or step is None or not _take_step(factor.id, step):
        raise errors.InvalidFactorCode
    if factor.confirmed_at is None and session_id is not None:
        factor.confirmed_at = utcnow_ms()
        _activate(user, session_id)


def use_mail_code(user: User, code: str) -> None:
    """Use a code of a mail. It counts once.

    Raises:
        MailNotEnabled: the user has not chosen codes by mail.
        InvalidFactorCode: the code is wrong, expired or used.
    """
    factor = factor_of(user.id)
    if factor is None or not factor.uses_mail:
        raise errors.MailNotEnabled
    used = _changes_row(
        sa.update(SecondFactor)
        .where(SecondFactor.id == factor.id, SecondFactor.mail_code_hash == hash_of(code, factor.id))
        .where(SecondFactor.mail_code_expires_at > utcnow_ms())
        .values(mail_code_hash=None, mail_code_expires_at=None)
    )
    if not used:
        raise errors.InvalidFactorCode


def use_backup_code(user: User, code: str) -> None:
    """Use a backup code. It counts once.

    Raises:
        SecondFactorNotEnabled: the user has no second factor. Backup codes alone are none.
        InvalidBackupCode: the code is wrong or was used.
    """
    if not user.two_factor_enabled:
        raise errors.SecondFactorNotEnabled
    hashed = hash_of(_plain(code), user.id)
    if not _changes_row(sa.delete(BackupCode).where(BackupCode.user_id == user.id, BackupCode.code_hash == hashed)):
        raise errors.InvalidBackupCode


def replace_backup_codes(user_id: str, *, limits: CodeLimits) -> list[str]:
    """Store new backup codes, hashed, and return them. The previous ones become invalid."""
    db.session.execute(sa.delete(BackupCode).where(BackupCode.user_id == user_id))
    codes = [_new_backup_code() for _ in range(limits.backup_codes)]
    db.session.add_all(BackupCode(user_id=user_id, code_hash=hash_of(_plain(code), user_id)) for code in codes)
    db.session.flush()
    return codes


def remaining_codes(user_id: str) -> int:
    """Return the number of unused backup codes."""
    return db.session.scalar(sa.select(sa.func.count()).where(BackupCode.user_id == user_id)) or 0


def remove(user: User, *, link: str, with_passkeys: bool = False) -> bool:
    """Remove the second factor of a locked user with its backup codes and trusted devices. Return whether it existed.

    No session has proved a factor any longer. `with_passkeys` removes the passkeys as well: the user has lost them.
    """
    for table in (SecondFactor, BackupCode, SecondFactorChallenge, TrustedDevice):
        db.session.execute(sa.delete(table).where(table.user_id == user.id))
    had_passkeys = with_passkeys and passkeys.delete_all(user.id)
    existed = user.two_factor_enabled or had_passkeys
    if existed:
        notify(user, "second_factor_removed", link=link)
    user.two_factor_enabled = False
    db.session.execute(sa.update(Session).where(Session.user_id == user.id).values(second_factor_at=None))
    db.session.flush()
    return existed


def record_proof(session_id: str) -> None:
    """Record that a session has proved a second factor: a code, or a passkey with user verification."""
    db.session.execute(sa.update(Session).where(Session.id == session_id).values(second_factor_at=utcnow_ms()))


def _activate(user: User, session_id: str) -> None:
    """Require the second factor at each sign-in. Other sessions end, because they have proved none."""
    record_proof(session_id)
    if not user.two_factor_enabled:
        user.two_factor_enabled = True
        sessions.end_all(user.id, but=session_id)
        notify(user, "second_factor_enabled")
    db.session.flush()


def ensure(user: User) -> SecondFactor:
    """Return the row of a locked user. Create it if it does not exist."""
    factor = factor_of(user.id)
    if factor is None:
        factor = SecondFactor(user_id=user.id)
        db.session.add(factor)
        db.session.flush()
    return factor


def _secret(factor: SecondFactor | None, session_id: str | None) -> str:
    if factor is None or factor.totp_secret is None:
        raise errors.AppNotEnabled
    if factor.confirmed_at is None and not is_waiting(factor, session_id):
        raise errors.AppNotEnabled
    return keyring.decrypt(factor.totp_secret, aad=_aad(factor))


def _aad(factor: SecondFactor) -> str:
    return associated_data(SecondFactor.__tablename__, factor.id, FIELD)


def _uri(user: User, secret: str) -> str:
    return pyotp.TOTP(secret, digits=DIGITS, interval=STEP_S).provisioning_uri(name=user.email, issuer_name=ISSUER)


def _step_of(code: str, secret: str) -> int | None:
    """Return the time step of a code within the window, or None. All steps are compared."""
    app, present = pyotp.TOTP(secret, digits=DIGITS, interval=STEP_S), int(clock.now().timestamp()) // STEP_S
    steps = range(present - WINDOW, present + WINDOW + 1)
    matches = [step for step in steps if hmac.compare_digest(app.generate_otp(step).encode(), code.encode())]
    return max(matches, default=None)


def _take_step(factor_id: str, step: int) -> bool:
    """Record a time step and return whether it is newer than the last one."""
    return _changes_row(
        sa.update(SecondFactor)
        .where(SecondFactor.id == factor_id)
        .where(sa.or_(SecondFactor.last_step.is_(None), SecondFactor.last_step < step))
        .values(last_step=step)
    )


def _changes_row(statement: sa.Update | sa.Delete) -> bool:
    """Run a compare-and-swap and return whether it has changed a row."""
    result: sa.CursorResult[tuple[object, ...]] = db.session.execute(statement)  # type: ignore[assignment]
    return result.rowcount == 1


def _new_backup_code() -> str:
    """Return a new code of 75 random bits in groups, without characters that look alike."""
    text = base64.b32encode(secrets.token_bytes(10)).decode().lower()
    return "-".join(text[start : start + GROUP_LENGTH] for start in range(0, GROUPS * GROUP_LENGTH, GROUP_LENGTH))


def _plain(code: str) -> str:
    return code.strip().lower().replace("-", "").replace(" ", "")
