"""Jobs that create a code or token and mail it. The secret exists only in the mail and, hashed, in its row.

A failed run is repeated with a new code, which replaces the previous one.
"""

from datetime import timedelta

import sqlalchemy as sa

from app.core.jobs import PermanentFailure, job
from app.core.urls import with_query
from app.database import transactions
from app.drivers.errors import UpstreamRejected
from app.drivers.mail.port import MailTransport
from app.extensions import current_settings, db
from app.models.base import utcnow_ms
from app.models.login import OneTimeCode
from app.models.second_factor import SecondFactor
from app.models.user import User
from app.resources.auth import one_time_codes
from app.resources.system.jobs import deliver
from app.security.secrets import hash_token, new_code, new_token


@job("auth.send_code", uses=("mail",), priority=10)
def send_code(*, code_id: str, language: str, mail: MailTransport) -> None:
    """Mail a new verification code if the e-mail address belongs to an unverified account."""
    _send_code(code_id, language, mail)


@job("auth.send_sign_up", uses=("mail",), priority=10)
def send_sign_up(*, code_id: str, language: str, may_send: bool, may_notify: bool, mail: MailTransport) -> None:
    """Mail a code to a new account, or a notice to the owner of a verified e-mail address."""
    if may_send and _send_code(code_id, language, mail):
        return
    owner = db.session.scalar(
        sa.select(User)
        .join(OneTimeCode, OneTimeCode.email_key == User.email_key)
        .where(OneTimeCode.id == code_id, User.email_verified)
    )
    if owner is not None and may_notify:
        link = f"{current_settings().server.web_url}/sign-in"
        _mail(mail, owner.email, "account_exists", language, link=link)


@job("auth.send_reset", uses=("mail",), priority=10)
def send_reset(*, code_id: str, page: str, language: str, is_token_in_query: bool = False, mail: MailTransport) -> None:
    """Mail a new reset link if the e-mail address has an account. The token is in its fragment or in its query."""
    limits = current_settings().limits.codes
    token = new_token()
    user = _renew(code_id, hash_token(token), limits.reset_ttl_s)
    if user is not None:
        link = with_query(page, "token", token) if is_token_in_query else f"{page}#token={token}"
        minutes = limits.reset_ttl_s // 60
        _mail(mail, user.email, "reset_password", language, link=link, minutes=minutes)
        _start_lifetime(code_id, hash_token(token), limits.reset_ttl_s)


@job("auth.send_factor_code", uses=("mail",), priority=10)
def send_factor_code(*, factor_id: str, language: str, mail: MailTransport) -> None:
    """Mail a new code to a user who chose codes by mail as the second factor. It replaces the previous one."""
    code, ttl_s = new_code(), current_settings().limits.codes.otp_ttl_s
    with transactions.locked_row(SecondFactor, factor_id) as factor:
        if factor is None or not factor.uses_mail:
            return
        factor.mail_code_hash = one_time_codes.hash_of(code, factor_id)
        factor.mail_code_expires_at = utcnow_ms() + timedelta(seconds=ttl_s)
        address = _address_of(factor)
    _mail(mail, address, "second_factor_code", language, code=code, minutes=ttl_s // 60)


@job("auth.send_factor_reset", uses=("mail",), priority=10)
def send_factor_reset(*, factor_id: str, owner: str, organization: str, language: str, mail: MailTransport) -> None:
    """Mail a new link that removes the second factor together with the password. The token is in its fragment."""
    settings, token = current_settings(), new_token()
    ttl_s = settings.limits.codes.reset_ttl_s
    with transactions.locked_row(SecondFactor, factor_id) as factor:
        if factor is None:
            return
        factor.reset_hash, factor.reset_expires_at = hash_token(token), utcnow_ms() + timedelta(seconds=ttl_s)
        address = _address_of(factor)
    link = f"{settings.server.web_url}/reset-second-factor#token={token}"
    values = {"owner": owner, "organization": organization, "link": link, "minutes": ttl_s // 60}
    _mail(mail, address, "second_factor_reset", language, **values)


def _address_of(factor: SecondFactor) -> str:
    return db.session.execute(sa.select(User.email).where(User.id == factor.user_id)).scalar_one()


def _send_code(code_id: str, language: str, mail: MailTransport) -> bool:
    """Mail a code and return whether the e-mail address belongs to an unverified account.

    The row is renewed in both cases, so that the counted attempts do not reveal whether an account exists.
    """
    limits = current_settings().limits.codes
    code = new_code()
    code_hash = one_time_codes.hash_of(code, code_id)
    user = _renew(code_id, code_hash, limits.otp_ttl_s, unverified_only=True)
    if user is not None:
        minutes = limits.otp_ttl_s // 60
        _mail(mail, user.email, "verify_email", language, code=code, minutes=minutes)
        _start_lifetime(code_id, code_hash, limits.otp_ttl_s)
    return user is not None


def _renew(code_id: str, code_hash: str, ttl_s: int, *, unverified_only: bool = False) -> User | None:
    """Store a new hash with all its attempts. Return the recipient of the code, or None."""
    with transactions.locked_row(OneTimeCode, code_id) as row:
        if row is None:
            return None
        user = db.session.scalar(sa.select(User).where(User.email_key == row.email_key))
        if user is not None and unverified_only and user.email_verified:
            user = None
        now = utcnow_ms()
        row.attempts, row.sent_at = 0, now
        row.user_id = user.id if user else None
        row.code_hash = code_hash if user else None
        row.expires_at = now + timedelta(seconds=ttl_s) if user else None
    return user


def _start_lifetime(code_id: str, code_hash: str, ttl_s: int) -> None:
    """Start the lifetime of a secret again after its mail was sent. A relay may respond slowly."""
    row = OneTimeCode
    with transactions.write_transaction():
        db.session.execute(
            sa.update(row)
            .where(row.id == code_id, row.code_hash == code_hash)
            .values(expires_at=utcnow_ms() + timedelta(seconds=ttl_s))
            .execution_options(synchronize_session=False)
        )


def _mail(mail: MailTransport, to: str, template: str, language: str, /, **values: object) -> None:
    try:
        deliver(mail, to, template, language, **values)
    except UpstreamRejected as error:
        raise PermanentFailure(str(error)) from error
