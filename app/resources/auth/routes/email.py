"""Routes for sign-up, sign-in and sign-out (spec 4.2), with the paths and bodies of better-auth."""

from typing import Any

from app.access import authentication
from app.access.guards import public, session
from app.access.scope import Scope
from app.core.emails import email_key
from app.core.errors import EmailNotVerified
from app.core.limits import InputLimits
from app.database import transactions
from app.extensions import current_settings
from app.http import rate_limits
from app.http.blueprint import ApiBlueprint
from app.http.endpoint import endpoint
from app.models.user import User
from app.resources.auth import one_time_codes, service
from app.resources.auth.schemas import (
    CurrentSession,
    CurrentSessionSchema,
    EmailBody,
    SignedInSchema,
    SignedUpSchema,
    SignInBody,
    SignUpBody,
    SuccessSchema,
    VerifiedEmailSchema,
    VerifyEmailBody,
)
from app.resources.user.mail import language_of
from app.resources.user.passwords import hashed, matches
from app.resources.user.sessions import OpenedSession

BYTES = InputLimits.auth_bytes


def hash_sign_up(scope: Scope, body: SignUpBody) -> dict[str, object]:
    """Hash the password and compare it, so that known and unknown e-mail addresses take the same time.

    Raises:
        SignUpClosed: the operator does not accept this sign-up.
    """
    service.check_sign_up(email_key(body.email))
    stored = service.password_of(body.email)
    return {
        "password_hash": hashed(body.password),
        "is_known_password": matches(stored, body.password),
        "may_notify": rate_limits.try_count(
            "account_exists", email_key(body.email), current_settings().limits.codes.otp_sends
        ),
    }


def compare_sign_in(scope: Scope, body: SignInBody) -> tuple[str, str]:
    """Return the id of the user and the hash with which the password was compared.

    Raises:
        InvalidEmailOrPassword: no user has this e-mail address and password.
        EmailNotVerified: the e-mail address is not verified. A new code is mailed if the resend interval allows it.
    """
    stored = service.password_of(body.email)
    failures = rate_limits.FailureCounter(service.account_key(body.email), stored)
    failures.begin()
    user = service.find(body.email) if matches(stored, body.password) else None
    if user is None or stored is None:
        failures.failed()
        raise service.InvalidEmailOrPassword
    failures.succeeded()
    if not user.email_verified:
        language = language_of(user, authentication.client_info().language)
        with transactions.write_transaction():
            one_time_codes.request_code(user.email_key, limits=current_settings().limits.codes, language=language)
        raise EmailNotVerified
    return user.id, stored


def find_verification(scope: Scope, body: VerifyEmailBody) -> tuple[str, str | None]:
    """Count the attempt and compare the code. Return the row and the hash of the code.

    Raises:
        TooManyAttempts: all attempts were used.
        InvalidOtp: the code is wrong.
    """
    with transactions.write_transaction():
        row = one_time_codes.count_attempt(email_key(body.email), limits=current_settings().limits.codes)
    if not one_time_codes.is_valid_code(row, body.otp):
        raise one_time_codes.InvalidOtp
    return row.id, row.code_hash


blueprint = ApiBlueprint(
    "auth",
    __name__,
    title="Sign-in",
    description="Accounts with a password: sign-up, codes by mail, sign-in and session.",
)


@blueprint.post("/sign-up/email")
@endpoint(
    guard=public("public+rate"),
    body=SignUpBody,
    result=SignedUpSchema,
    message="A code was sent to the e-mail address",
    upstream=hash_sign_up,
    max_bytes=BYTES,
    rate="sign_up",
    errors=("SIGN_UP_CLOSED",),
)
def sign_up(*, scope: Scope, body: SignUpBody, prepared: dict[str, Any]) -> dict[str, User | None]:
    """Register with an e-mail address and a password. A code is mailed."""
    limits = current_settings().limits.codes
    return {"user": service.sign_up(body.sent(), **prepared, visitor=authentication.client_info(), limits=limits)}


@blueprint.post("/sign-in/email")
@endpoint(
    guard=public("public+rate"),
    body=SignInBody,
    result=SignedInSchema,
    message="Signed in",
    upstream=compare_sign_in,
    max_bytes=BYTES,
    rate="sign_in",
    errors=(
        "INVALID_EMAIL_OR_PASSWORD",
        "EMAIL_NOT_VERIFIED",
    ),
)
def sign_in(*, scope: Scope, body: SignInBody, prepared: tuple[str, str]) -> OpenedSession:
    """Sign in with e-mail and password."""
    limits, visitor = current_settings().limits.sessions, authentication.client_info()
    return authentication.set_session_cookie(
        service.sign_in(*prepared, visitor=visitor, limits=limits, remember=body.remember_me)
    )


@blueprint.post("/verify-email")
@blueprint.post("/email-otp/verify-email", endpoint="verify_email_alias")
@endpoint(
    guard=public("public+rate"),
    body=VerifyEmailBody,
    result=VerifiedEmailSchema,
    message="E-mail verified",
    upstream=find_verification,
    max_bytes=BYTES,
    rate="verify",
    errors=(
        "INVALID_OTP",
        "TOO_MANY_ATTEMPTS",
    ),
)
def verify_email(*, scope: Scope, body: VerifyEmailBody, prepared: tuple[str, str | None]) -> OpenedSession:
    """Confirm the e-mail with the mailed code and sign in."""
    limits, web_url = current_settings().limits.sessions, current_settings().server.web_url
    return authentication.set_session_cookie(
        service.verify_email(prepared, visitor=authentication.client_info(), limits=limits, web_url=web_url)
    )


@blueprint.post("/send-verification-otp")
@blueprint.post("/email-otp/send-verification-otp", endpoint="send_code_alias")
@endpoint(
    operation_id="sendVerificationCode",
    guard=public("public+rate"),
    body=EmailBody,
    result=SuccessSchema,
    message="If the e-mail address is not verified, a code was sent",
    max_bytes=BYTES,
    rate="verify",
)
def send_code(*, scope: Scope, body: EmailBody) -> dict[str, bool]:
    """Mail a new verification code."""
    return service.request_code(
        body.email, visitor=authentication.client_info(), limits=current_settings().limits.codes
    )


@blueprint.get("/get-session")
@endpoint(guard=session(), result=CurrentSessionSchema, message="Signed in")
def get_session(*, scope: Scope) -> CurrentSession:
    """Return the current session and its user."""
    return {"user": scope.caller.user, "session": scope.caller.session}


@blueprint.post("/sign-out")
@endpoint(guard=public(), result=SuccessSchema, message="Signed out", max_bytes=BYTES)
def sign_out(*, scope: Scope) -> dict[str, bool]:
    """End the session and clear the cookie."""
    return authentication.clear_session_cookie(service.sign_out(authentication.session()))
