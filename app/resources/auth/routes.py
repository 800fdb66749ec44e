"""Signing up, in and out (spec 4.2); paths and bodies as better-auth's clients use them."""

from typing import Any

from flask import Blueprint

from app.core.limits import InputLimits
from app.http import login
from app.http.configuration import settings
from app.http.endpoint import endpoint
from app.http.guards import public, session
from app.http.scope import Scope
from app.models.user import User
from app.resources.auth import preparation, service
from app.resources.auth.schemas import (
    EmailBody,
    OnlyEmail,
    SignIn,
    SignInBody,
    SignUp,
    SignUpBody,
    VerifyEmail,
    VerifyEmailBody,
)
from app.resources.auth.views import (
    Current,
    CurrentSession,
    Done,
    SignedIn,
    SignedUp,
    Verified,
)
from app.resources.user.sessions import Opened

blueprint = Blueprint("auth", __name__)
BYTES = InputLimits.auth_bytes


@blueprint.post("/sign-up/email")
@endpoint(
    guard=public("public+rate"), body=SignUp, result=SignedUp, message="Check your mail for the code",
    prepare=preparation.sign_up, max_bytes=BYTES, rate="sign_up",
)  # fmt: skip
def sign_up(_scope: Scope, body: SignUpBody, prepared: dict[str, Any]) -> dict[str, User | None]:
    """Register with e-mail and password; a code is mailed."""
    limits = settings().limits.codes
    return {"user": service.sign_up(dict(body), **prepared, visitor=login.visitor(), limits=limits)}


@blueprint.post("/sign-in/email")
@endpoint(
    guard=public("public+rate"), body=SignIn, result=SignedIn, message="Signed in",
    prepare=preparation.sign_in, max_bytes=BYTES, rate="sign_in",
)  # fmt: skip
def sign_in(_scope: Scope, body: SignInBody, known: tuple[User, str]) -> Opened:
    """Sign in with e-mail and password."""
    limits, visitor = settings().limits.sessions, login.visitor()
    return login.admit(service.sign_in(*known, visitor=visitor, limits=limits, remember=body["remember_me"]))


@blueprint.post("/verify-email")
@blueprint.post("/email-otp/verify-email", endpoint="verify_email_alias")
@endpoint(
    guard=public("public+rate"), body=VerifyEmail, result=Verified, message="E-mail verified",
    prepare=preparation.verify_email, max_bytes=BYTES, rate="verify",
)  # fmt: skip
def verify_email(_scope: Scope, _body: VerifyEmailBody, proof: tuple[str, str | None]) -> Opened:
    """Confirm the e-mail with the mailed code and sign in."""
    limits, web_url = settings().limits.sessions, settings().server.web_url
    return login.admit(service.verify_email(proof, visitor=login.visitor(), limits=limits, web_url=web_url))


@blueprint.post("/send-verification-otp")
@blueprint.post("/email-otp/send-verification-otp", endpoint="send_code_alias")
@endpoint(
    guard=public("public+rate"), body=OnlyEmail, result=Done, message="If the e-mail waits for a code, one is on its way",
    max_bytes=BYTES, rate="verify",
)  # fmt: skip
def send_code(_scope: Scope, body: EmailBody) -> dict[str, bool]:
    """Mail a new verification code."""
    return service.request_code(body["email"], visitor=login.visitor(), limits=settings().limits.codes)


@blueprint.get("/get-session")
@endpoint(guard=session(), result=Current, message="Signed in")
def get_session(scope: Scope) -> CurrentSession:
    """Return the present session and its user."""
    return {"user": scope.caller.user_row, "session": scope.caller.session_row}


@blueprint.post("/sign-out")
@endpoint(guard=public(), result=Done, message="Signed out", max_bytes=BYTES)
def sign_out(_scope: Scope) -> dict[str, bool]:
    """End the session and clear the cookie."""
    return login.dismiss(service.sign_out(login.session()))
