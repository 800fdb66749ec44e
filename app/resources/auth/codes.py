"""One-time codes and reset tokens: asking for one, trying one, using one up. Knows the table, not the mails.

What is mailed is made by the job that mails it (`app.resources.auth.jobs`), so that neither code nor token waits in a
queue and its life starts when it is sent.
"""

import hmac
from datetime import datetime, timedelta

import sqlalchemy as sa

from app.core.errors import Invalid, TooManyRequests
from app.core.limits import DAY, CodeLimits
from app.core.secrets import hash_token
from app.core.upserts import insert_unless_there
from app.extensions import db, jobs
from app.models.base import moment
from app.models.login import OneTimeCode, Purpose


class InvalidOtp(Invalid):
    """Wrong, used, superseded or expired: one answer (contract 4.2)."""

    code, message = "INVALID_OTP", "This code is not valid; ask for a new one"


class InvalidToken(Invalid):
    """The same of a reset token."""

    code, message = "INVALID_TOKEN", "This link is not valid any more; ask for a new one"


class TooManyAttempts(TooManyRequests):
    """A code is used up by wrong guesses (429)."""

    code, message = "TOO_MANY_ATTEMPTS", "Too many wrong codes; ask for a new one"


def request_code(email_key: str, *, limits: CodeLimits, language: str) -> bool:
    """Have a verification code mailed, unless one went out a moment ago or too many did; says whether.

    The same is done for an e-mail that waits for none, save the mail: see `app.resources.auth.jobs`.
    """
    row = _row(email_key, Purpose.VERIFY_EMAIL)
    if not _count_sending(row, limits):
        return False
    jobs.enqueue("auth.send_code", code_id=row.id, language=language, unique=f"auth.send_code:{row.id}", priority=10)
    return True


def request_for_sign_up(
    email_key: str, *, limits: CodeLimits, language: str, contested: bool, may_notify: bool
) -> None:
    """Have whoever signed up mailed a code, or the owner of the e-mail a notice; which of them, the job finds out.

    `contested` notes that another password was given than an unverified account has, `may_notify` that the owner was
    not told too often.
    """
    row = _row(email_key, Purpose.VERIFY_EMAIL)
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


def request_reset(email_key: str, *, page: str, language: str) -> None:
    """Have a reset link to `page` mailed to whoever owns the e-mail, if anyone does."""
    row = _row(email_key, Purpose.RESET_PASSWORD)
    jobs.enqueue(
        "auth.send_reset", code_id=row.id, page=page, language=language, unique=f"auth.send_reset:{row.id}", priority=10
    )


def settle(email_key: str) -> None:
    """Note that the owner of the e-mail has had the last word on the password."""
    ours = (OneTimeCode.email_key == email_key, OneTimeCode.purpose == Purpose.VERIFY_EMAIL)
    db.session.execute(sa.update(OneTimeCode).where(*ours).values(contested=False))


def count_attempt(email_key: str, *, limits: CodeLimits) -> OneTimeCode:
    """Use up one attempt at the e-mail's code; done before any comparison, and kept whatever comes of it.

    Raises:
        TooManyAttempts: all are used up, for a known and an unknown e-mail alike.
    """
    row_id = _row(email_key, Purpose.VERIFY_EMAIL).id
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


def is_right(row: OneTimeCode, code: str) -> bool:
    """Whether it is the code that was mailed last and is still good."""
    expected = row.code_hash or ""
    alive = row.expires_at is not None and row.expires_at > moment()
    return hmac.compare_digest(expected, hash_of(code, row.id)) and alive and row.user_id is not None


def use(row_id: str, code_hash: str | None) -> OneTimeCode | None:
    """Use a code or token up; None when somebody else did, or when a newer one was sent since.

    Its attempts are forgotten: guesses at an e-mail that has nothing to guess count as those at an unknown one.
    """
    used = db.session.execute(
        sa.update(OneTimeCode)
        .where(OneTimeCode.id == row_id, OneTimeCode.code_hash == code_hash, OneTimeCode.expires_at > moment())
        .values(code_hash=None, expires_at=None, attempts=0)
        .returning(OneTimeCode.id)
        .execution_options(synchronize_session=False)
    ).first()
    return db.session.get_one(OneTimeCode, row_id, populate_existing=True) if used else None


def find_reset(token: str) -> OneTimeCode:
    """The row of a reset token that is still good.

    Raises:
        InvalidToken: there is none.
    """
    row = db.session.scalar(
        sa.select(OneTimeCode).where(
            OneTimeCode.code_hash == hash_token(token),
            OneTimeCode.purpose == Purpose.RESET_PASSWORD,
            OneTimeCode.user_id.is_not(None),
            OneTimeCode.expires_at > moment(),
        )
    )
    if row is None:
        raise InvalidToken
    return row


def hash_of(code: str, row_id: str) -> str:
    """What is stored of a code; bound to its row, so that equal codes of two people do not look equal."""
    return hash_token(f"{row_id}:{code}")


def _row(email_key: str, purpose: Purpose) -> OneTimeCode:
    """The e-mail's row, locked; made when there is none."""
    wanted = sa.select(OneTimeCode).where(OneTimeCode.email_key == email_key, OneTimeCode.purpose == purpose)
    wanted = wanted.with_for_update().execution_options(populate_existing=True)
    found = db.session.scalar(wanted)
    if found is None:
        now = moment()
        values = {"email_key": email_key, "purpose": purpose, "created_at": now, "updated_at": now}
        dialect = db.session.connection().dialect.name
        db.session.execute(insert_unless_there(dialect, OneTimeCode, values, unique=["email_key", "purpose"]))
        found = db.session.scalars(wanted).one()
    return found


def _count_sending(row: OneTimeCode, limits: CodeLimits) -> bool:
    """Count a sending where the interval and the numbers an hour and a day allow it; says whether."""
    now = moment()
    times = [float(part) for part in row.sent_times.split(",") if part]
    may_send = _may_send(times, now, limits)
    if may_send:
        kept = [sent for sent in times if sent > now.timestamp() - DAY]
        row.sent_times = ",".join(f"{sent:.0f}" for sent in [*kept, now.timestamp()])
    db.session.flush()
    return may_send


def _may_send(times: list[float], now: datetime, limits: CodeLimits) -> bool:
    """The interval and the numbers an hour and a day (limits, section 1: Codes)."""

    def since(seconds: float) -> int:
        start = (now - timedelta(seconds=seconds)).timestamp()
        return sum(sent > start for sent in times)

    return since(limits.otp_resend_s) == 0 and all(since(rate.per_s) < rate.times for rate in limits.otp_sends)
