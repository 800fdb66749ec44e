"""Routes for sign-up, sign-in and sign-out (spec 4.2), with the paths and bodies of better-auth."""

from app.access.guards import public, session
from app.access.scope import Scope
from app.core.limits import InputLimits
from app.core.outbound import UnrecordedAct
from app.http.blueprint import ApiBlueprint
from app.http.endpoint import endpoint
from app.models.user import User
from app.resources.auth import actions, guards
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
from app.resources.auth.two_factor.challenges import SignedIn

BYTES = InputLimits.auth_bytes


blueprint = ApiBlueprint(
    "auth",
    __name__,
    title="Sign-in",
    description="Accounts with a password: sign-up, codes by mail, sign-in and session.",
)


@blueprint.post("/sign-up/email")
@endpoint(
    **vars(guards.SIGN_UP),
    body=SignUpBody,
    result=SignedUpSchema,
    message="A code was sent to the e-mail address",
    max_bytes=BYTES,
    errors=("SIGN_UP_CLOSED",),
)
def sign_up(*, scope: Scope, body: SignUpBody) -> UnrecordedAct[dict[str, User | None]]:
    """Register with an e-mail address and a password. A code is mailed."""
    return actions.sign_up(body.sent())


@blueprint.post("/sign-in/email")
@endpoint(
    **vars(guards.SIGN_IN),
    body=SignInBody,
    result=SignedInSchema,
    message="Signed in",
    max_bytes=BYTES,
    errors=("INVALID_EMAIL_OR_PASSWORD", "EMAIL_NOT_VERIFIED"),
)
def sign_in(*, scope: Scope, body: SignInBody) -> UnrecordedAct[SignedIn]:
    """Sign in with e-mail and password."""
    return actions.sign_in(**vars(body))


@blueprint.post("/verify-email")
@blueprint.post("/email-otp/verify-email", endpoint="verify_email_alias")
@endpoint(
    **vars(guards.VERIFY),
    body=VerifyEmailBody,
    result=VerifiedEmailSchema,
    message="E-mail verified",
    max_bytes=BYTES,
    errors=("INVALID_OTP", "TOO_MANY_ATTEMPTS"),
)
def verify_email(*, scope: Scope, body: VerifyEmailBody) -> UnrecordedAct[SignedIn]:
    """Confirm the e-mail with the mailed code and sign in."""
    return actions.verify_email(body.email, body.otp)


@blueprint.post("/send-verification-otp")
@blueprint.post("/email-otp/send-verification-otp", endpoint="send_code_alias")
@endpoint(
    **vars(guards.SEND_CODE),
    operation_id="sendVerificationCode",
    body=EmailBody,
    result=SuccessSchema,
    message="If the e-mail address is not verified, a code was sent",
    max_bytes=BYTES,
)
def send_code(*, scope: Scope, body: EmailBody) -> dict[str, bool]:
    """Mail a new verification code."""
    return actions.send_code(body.email)


@blueprint.get("/get-session")
@endpoint(guard=session().without_second_factor(), result=CurrentSessionSchema, message="Signed in")
def get_session(*, scope: Scope) -> CurrentSession:
    """Return the current session and its user."""
    return {"user": scope.caller, "session": scope.session}


@blueprint.post("/sign-out")
@endpoint(guard=public(), result=SuccessSchema, message="Signed out", max_bytes=BYTES)
def sign_out(*, scope: Scope) -> dict[str, bool]:
    """End the session and clear the cookie."""
    return actions.sign_out()
