"""What happens before a sign-in route's transaction: slow hashes, attempts that count whatever comes of them, rates."""

from typing import Any

from app import transactions
from app.core.emails import email_key
from app.core.errors import EmailNotVerified
from app.http import login, rate_limits
from app.http.configuration import settings
from app.http.scope import Scope
from app.models.user import User
from app.resources.auth import codes, passwords, service
from app.resources.auth.schemas import (
    ChangePasswordBody,
    ForgetPasswordBody,
    ResetPasswordBody,
    SignInBody,
    SignUpBody,
    VerifyEmailBody,
)
from app.resources.user.hashing import hashed, matches
from app.resources.user.mail import language_at, language_of
from app.resources.user.passwords import check_new
from app.resources.user.preparation import compare


def sign_up(_scope: Scope, body: SignUpBody) -> dict[str, object]:
    """Hash the password; compare it too, so that a known e-mail takes as long as an unknown one."""
    stored = service.password_of(body["email"])
    return {
        "password_hash": hashed(body["password"]),
        "is_known_password": matches(stored, body["password"]),
        "may_notify": rate_limits.is_within(
            "account_exists", email_key(body["email"]), settings().limits.codes.otp_sends
        ),
    }


def sign_in(_scope: Scope, body: SignInBody) -> tuple[User, str]:
    """The user with that e-mail and password, and the hash it was compared with.

    Raises:
        InvalidEmailOrPassword: there is none.
        EmailNotVerified: there is, but its e-mail waits for the code, which is mailed again where it may be.
    """
    stored, failures = service.password_of(body["email"]), rate_limits.Failures(service.account_key(body["email"]))
    failures.begin()
    user = service.find(body["email"]) if matches(stored, body["password"]) else None
    if user is None or stored is None:
        failures.failed()
        raise service.InvalidEmailOrPassword
    failures.succeeded()
    if not user.email_verified:
        language = language_of(user, login.visitor().language)
        with transactions.writing():
            codes.request_code(user.email_key, limits=settings().limits.codes, language=language)
        raise EmailNotVerified
    return user, stored


def verify_email(_scope: Scope, body: VerifyEmailBody) -> tuple[str, str | None]:
    """Count the attempt, then compare; the row and hash of a code that is right.

    Raises:
        TooManyAttempts: there were five before.
        InvalidOtp: it is not the code.
    """
    with transactions.writing():
        row = codes.count_attempt(email_key(body["email"]), limits=settings().limits.codes)
    if not codes.is_right(row, body["otp"]):
        raise codes.InvalidOtp
    return row.id, row.code_hash


def forget_password(_scope: Scope, body: ForgetPasswordBody) -> dict[str, Any]:
    """The page the link leads to, the language of the mail, and whether one may be sent: beyond the rate, silently not.

    Raises:
        InvalidRedirect: the page is not one of ours.
    """
    server = settings().server
    page = passwords.own_page(
        body["redirect_to"],
        web_url=server.web_url,
        origins=server.allowed_origins,
        otherwise=passwords.RESET_PAGE,
    )
    key = email_key(body["email"])
    language = language_at(key, login.visitor().language)
    return {"page": page, "language": language, "may_mail": rate_limits.is_within("forget_password", key)}


def reset_password(_scope: Scope, body: ResetPasswordBody) -> tuple[tuple[str, str | None], str]:
    """The row and hash of a token that is good, and the new password's hash.

    Raises:
        InvalidToken: it is not.
        Invalid: the password gives itself away.
    """
    row = codes.find_reset(body["token"])
    check_new(body["new_password"], service.owner_of(row))
    return (row.id, row.code_hash), hashed(body["new_password"])


def change_password(scope: Scope, body: ChangePasswordBody) -> tuple[str | None, str]:
    """The hash the present password was compared with, and the new password's.

    Raises:
        InvalidPassword: the present password is wrong, or there is none.
    """
    stored = scope.actor.password_hash
    compare(scope.actor, body["current_password"])
    check_new(body["new_password"], scope.actor)
    return stored, hashed(body["new_password"])
