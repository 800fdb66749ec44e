"""One-time codes and reset tokens: request, attempt and use.

The job that mails a secret creates it (`app.resources.auth.jobs`). No secret is stored in a queue, and its lifetime
starts when it is sent.
"""

import hmac
from datetime import datetime, timedelta

import sqlalchemy as sa

from app.core.errors import ErrorMessage, InvalidRequest, TooManyRequests
from app.core.limits import CodeLimits
from app.core.rates import DAY
from app.database.inserts import insert_or_ignore
from app.extensions import db, jobs
from app.models.base import utcnow_ms
from app.models.login import CodePurpose, OneTimeCode
from app.security.secrets import hash_token


class InvalidOtp(InvalidRequest):
    """The code is wrong, used, replaced or expired. All causes have one response (contract 4.2)."""

    code, message = "INVALID_OTP", "The code is invalid. Request a new one"


class InvalidToken(InvalidRequest):
    """The reset token is wrong, used, replaced or expired (400)."""

    code, message = "INVALID_TOKEN", "The link is invalid. Request a new one"


class TooManyAttempts(TooManyRequests):
    """All attempts for the code were used (429)."""

    code, message = "TOO_MANY_ATTEMPTS", ErrorMessage("Too many wrong codes. Request a new one")


def request_code(email_key: str, *, limits: CodeLimits, language: str) -> bool:
    """Enqueue a verification code and return whether the resend limits allow it.

    The same work is done for an unknown e-mail address. The job then sends no mail.
    """
    row = _row(email_key, CodePurpose.VERIFY_EMAIL)
    if not _count_sending(row, limits):
        return False
    jobs.enqueue("auth.send_code", code_id=row.id, language=language, unique=f"auth.send_code:{row.id}", priority=10)
    return True


def request_for_sign_up(
    email_key: str, *, limits: CodeLimits, language: str, contested: bool, may_notify: bool
) -> None:
    """Enqueue the mail of a sign-up. The job decides whether it is a code or a notice to the owner.

    Parameters:
        contested: the password differs from that of an existing unverified account.
        may_notify: the rate of notices to the owner is not exceeded.
    """
    row = _row(email_key, CodePurpose.VERIFY_EMAIL)
    row.contested = row.contested or contested
    may_send = _count_sending(row, limits)
    if may_send or may_notify:
        jobs.enqueue(
            "auth.send_sign_up",
            code_id=row.id,
            language=language,
            may_send=may_send,
            may_notify=may_notify,
            priority=10,
        )


def request_reset(email_key: str, *, page: str, is_token_in_query: bool, language: str) -> None:
    """Enqueue a mail with a reset link to `page`. The token is in the query or in the fragment."""
    row = _row(email_key, CodePurpose.RESET_PASSWORD)
    jobs.enqueue(
        "auth.send_reset",
        code_id=row.id,
        page=page,
        is_token_in_query=is_token_in_query,
        language=language,
        unique=f"auth.send_reset:{row.id}",
        priority=10,
    )


def clear_contested(email_key: str) -> None:
    """Record that the owner of the e-mail address has set the password."""
    ours = (OneTimeCode.email_key == email_key, OneTimeCode.purpose == CodePurpose.VERIFY_EMAIL)
    db.session.execute(sa.update(OneTimeCode).where(*ours).values(contested=False))


def count_attempt(email_key: str, *, limits: CodeLimits) -> OneTimeCode:
    """Count one attempt for the code of an e-mail address, before the comparison.

    Raises:
        TooManyAttempts: all attempts were used, also for an unknown e-mail address.
    """
    row_id = _row(email_key, CodePurpose.VERIFY_EMAIL).id
    counted = db.session.execute(
        sa.update(OneTimeCode)
        .where(OneTimeCode.id == row_id, OneTimeCode.attempts < limits.otp_attempts)
        .values(attempts=OneTimeCode.attempts + 1)
        .returning(OneTimeCode.id)
        .execution_options(synchronize_session=False)
    ).first()
    if counted is None:
        raise TooManyAttempts(retry_after_s=limits.otp_resend_s)
    return db.session.get_one(OneTimeCode, row_id, populate_existing=True)


def is_valid_code(row: OneTimeCode, code: str) -> bool:
    """Return whether a code is the newest one and has not expired."""
    expected = row.code_hash or ""
    alive = row.expires_at is not None and row.expires_at > utcnow_ms()
    return hmac.compare_digest(expected, hash_of(code, row.id)) and alive and row.user_id is not None


def consume(row_id: str, code_hash: str | None) -> OneTimeCode | None:
    """Use a code or token. Return None if another request used it or a newer one was sent.

    The attempts are reset, so that later guesses count as for an unknown e-mail address.
    """
    used = db.session.execute(
        sa.update(OneTimeCode)
        .where(OneTimeCode.id == row_id, OneTimeCode.code_hash == code_hash, OneTimeCode.expires_at > utcnow_ms())
        .values(code_hash=None, expires_at=None, attempts=0)
        .returning(OneTimeCode.id)
        .execution_options(synchronize_session=False)
    ).first()
    return db.session.get_one(OneTimeCode, row_id, populate_existing=True) if used else None


def find_reset(token: str) -> OneTimeCode:
    """Return the row of a valid reset token.

    Raises:
        InvalidToken: the token is not valid.
    """
    row = db.session.scalar(
        sa.select(OneTimeCode).where(
            OneTimeCode.code_hash == hash_token(token),
            OneTimeCode.purpose == CodePurpose.RESET_PASSWORD,
            OneTimeCode.user_id.is_not(None),
            OneTimeCode.expires_at > utcnow_ms(),
        )
    )
    if row is None:
        raise InvalidToken
    return row


def hash_of(code: str, row_id: str) -> str:
    """Return the stored hash of a code. It includes the row, so equal codes of two users have different hashes."""
    return hash_token(f"{row_id}:{code}")


def _row(email_key: str, purpose: CodePurpose) -> OneTimeCode:
    """Lock and return the row of an e-mail address. Create it if it does not exist."""
    statement = sa.select(OneTimeCode).where(OneTimeCode.email_key == email_key, OneTimeCode.purpose == purpose)
    statement = statement.with_for_update().execution_options(populate_existing=True)
    row = db.session.scalar(statement)
    if row is None:
        now = utcnow_ms()
        values = {"email_key": email_key, "purpose": purpose, "created_at": now, "updated_at": now}
        dialect = db.session.connection().dialect.name
        db.session.execute(insert_or_ignore(dialect, OneTimeCode, values, unique=["email_key", "purpose"]))
        row = db.session.scalars(statement).one()
    return row


def _count_sending(row: OneTimeCode, limits: CodeLimits) -> bool:
    """Count a mail if the interval and the rates allow it. Return whether they do."""
    now = utcnow_ms()
    times = [float(part) for part in row.sent_times.split(",") if part]
    may_send = _may_send(times, now, limits)
    if may_send:
        recent = [sent for sent in times if sent > now.timestamp() - DAY]
        row.sent_times = ",".join(f"{sent:.0f}" for sent in [*recent, now.timestamp()])
    db.session.flush()
    return may_send


def _may_send(times: list[float], now: datetime, limits: CodeLimits) -> bool:
    """Return whether the interval and the rates allow another mail (limits, section 1: Codes)."""

    def since(seconds: float) -> int:
        start = (now - timedelta(seconds=seconds)).timestamp()
        return sum(sent > start for sent in times)

    return since(limits.otp_resend_s) == 0 and all(since(rate.per_s) < rate.times for rate in limits.otp_sends)
