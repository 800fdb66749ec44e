"""The jobs that make a code or token and mail it; what they make exists nowhere but in the mail and, hashed, in its row.

A run that failed is tried again with a new code: the one before was never received, or is superseded.
"""

from datetime import timedelta

import sqlalchemy as sa
from flask import current_app

from app import transactions
from app.core.jobs import PermanentFailure, job
from app.core.secrets import hash_token, new_code, new_token
from app.drivers.errors import Rejected
from app.drivers.mail.port import MailTransport
from app.extensions import db
from app.models.base import moment
from app.models.login import OneTimeCode
from app.models.user import User
from app.resources.auth import codes
from app.resources.system.jobs import deliver


@job("auth.send_code", uses=("mail",), priority=10)
def send_code(*, code_id: str, language: str, mail: MailTransport) -> None:
    """Mail a fresh verification code to the owner of the row's e-mail, if somebody there waits for one."""
    _send_code(code_id, language, mail)


@job("auth.send_sign_up", uses=("mail",), priority=10)
def send_sign_up(*, code_id: str, language: str, may_send: bool, may_notify: bool, mail: MailTransport) -> None:
    """Mail whoever signed up a code, or tell the owner of a verified e-mail that somebody tried to sign up with it."""
    if may_send and _send_code(code_id, language, mail):
        return
    owner = db.session.scalar(
        sa.select(User)
        .join(OneTimeCode, OneTimeCode.email_key == User.email_key)
        .where(OneTimeCode.id == code_id, User.email_verified)
    )
    if owner is not None and may_notify:
        link = f"{current_app.config['SETTINGS'].server.web_url}/sign-in"
        _mail(mail, owner.email, "account_exists", language, name=owner.name, link=link)


@job("auth.send_reset", uses=("mail",), priority=10)
def send_reset(*, code_id: str, page: str, language: str, mail: MailTransport) -> None:
    """Mail a fresh reset link to the owner of the row's e-mail, if there is one; the token stands in its fragment."""
    limits = current_app.config["SETTINGS"].limits.codes
    token = new_token()
    user = _renew(code_id, hash_token(token), limits.reset_ttl_s)
    if user is not None:
        link, minutes = f"{page}#token={token}", limits.reset_ttl_s // 60
        _mail(mail, user.email, "reset_password", language, name=user.name, link=link, minutes=minutes)


def _send_code(code_id: str, language: str, mail: MailTransport) -> bool:
    """Whether somebody waits for a code, who is then mailed one.

    The row is renewed either way: whether an e-mail has an account does not show in how its attempts are counted.
    """
    limits = current_app.config["SETTINGS"].limits.codes
    code = new_code()
    user = _renew(code_id, codes.hash_of(code, code_id), limits.otp_ttl_s, unverified_only=True)
    if user is not None:
        minutes = limits.otp_ttl_s // 60
        _mail(mail, user.email, "verify_email", language, name=user.name, code=code, minutes=minutes)
    return user is not None


def _renew(code_id: str, code_hash: str, ttl_s: int, *, unverified_only: bool = False) -> User | None:
    """Keep a new hash in the row with all its attempts; the one the code is to be mailed to, or None."""
    with transactions.writing():
        row = db.session.get(OneTimeCode, code_id, with_for_update=True)
        if row is None:
            return None
        user = db.session.scalar(sa.select(User).where(User.email_key == row.email_key))
        if user is not None and unverified_only and user.email_verified:
            user = None
        now = moment()
        row.attempts, row.sent_at = 0, now
        row.user_id = user.id if user else None
        row.code_hash = code_hash if user else None
        row.expires_at = now + timedelta(seconds=ttl_s) if user else None
    return user


def _mail(mail: MailTransport, to: str, template: str, language: str, /, **values: object) -> None:
    try:
        deliver(mail, to, template, language, **values)
    except Rejected as error:
        raise PermanentFailure("The mail relay refuses this address") from error
