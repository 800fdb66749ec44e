"""Declared actions of visitors without a session, their comparison of passwords, and the rates of their mails."""

from functools import partial

from app.access.guards import public, verified
from app.extensions import current_settings
from app.http.actions import DeclaredAction
from app.http.rate_limits import FailureCounter, try_count
from app.models.user import User
from app.resources.auth import service
from app.resources.user.passwords import matches

_of_visitor = partial(DeclaredAction, guard=public("public+rate"), outside=True)

SIGN_UP = _of_visitor(rate="sign_up")
SIGN_IN = _of_visitor(rate="sign_in")
VERIFY = _of_visitor(rate="verify")
SEND_CODE = _of_visitor(rate="verify", outside=False)
REAUTHENTICATE = DeclaredAction(guard=verified().without_second_factor(), outside=True)
FORGET_PASSWORD = _of_visitor(rate="forget_password")
RESET_PASSWORD = _of_visitor(guard=public("public+token"), rate="reset")


def compare_sign_in(email: str, password: str) -> tuple[User, str]:
    """Return the user, and the hash with which the password was compared. A wrong password is counted.

    Raises:
        InvalidEmailOrPassword: no user has this e-mail address and password.
        TooManyRequests: too many passwords were wrong.
    """
    stored = service.password_of(email)
    failures = FailureCounter(service.account_key(email), stored)
    failures.begin()
    user = service.find(email) if matches(stored, password) else None
    if user is None or stored is None:
        failures.failed()
        raise service.InvalidEmailOrPassword
    failures.succeeded()
    return user, stored


def may_notify(email_key: str) -> bool:
    """Count a mail about a sign-up with a known e-mail address. Return False if the rate is used up."""
    return try_count("account_exists", email_key, current_settings().limits.codes.otp_sends)


def may_mail_reset(email_key: str) -> bool:
    """Count a mail with a reset link. Return False if the rate is used up."""
    return try_count("forget_password", email_key)
