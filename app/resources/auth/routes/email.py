"""Routes for sign-up, sign-in and sign-out (spec 4.2), with the paths and bodies of better-auth."""

from typing import Any

from app.access import authentication
from app.access.guards import public, session
from app.access.scope import Scope
from app.core.limits import InputLimits
from app.extensions import current_settings
from app.http.blueprint import ApiBlueprint
from app.http.endpoint import endpoint
from app.models.user import User
from app.resources.auth import service
from app.resources.auth.prepare import email
from app.resources.auth.schemas.email import (
    EmailBody,
    SignInBody,
    SignUpBody,
    VerifyEmailBody,
)
from app.resources.auth.schemas.responses import (
    CurrentSession,
    CurrentSessionSchema,
    SignedInSchema,
    SignedUpSchema,
    SuccessSchema,
    VerifiedEmailSchema,
)
from app.resources.user.sessions import OpenedSession

blueprint = ApiBlueprint(
    "auth",
    __name__,
    title="Sign-in",
    description="Accounts with a password: sign-up, codes by mail, sign-in and session.",
)
BYTES = InputLimits.auth_bytes


@blueprint.post("/sign-up/email")
@endpoint(
    guard=public("public+rate"),
    body=SignUpBody,
    result=SignedUpSchema,
    message="A code was sent to the e-mail address",
    upstream=email.sign_up,
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
    upstream=email.sign_in,
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
    upstream=email.verify_email,
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
    return {"user": scope.caller.user_row, "session": scope.caller.session_row}


@blueprint.post("/sign-out")
@endpoint(guard=public(), result=SuccessSchema, message="Signed out", max_bytes=BYTES)
def sign_out(*, scope: Scope) -> dict[str, bool]:
    """End the session and clear the cookie."""
    return authentication.clear_session_cookie(service.sign_out(authentication.session()))
