"""Pages without a session: sign-in, sign-up, verification, forgotten and reset password, invitation."""

from dataclasses import dataclass
from typing import Annotated, Any
from urllib.parse import urlencode

from flask import Response
from marshmallow import fields

from app.access.guards import public
from app.access.scope import Scope
from app.console.blueprint import ROOT, blueprint
from app.console.shell.forms import Form
from app.console.shell.pages import Page, is_signed_in, local_path, see_other
from app.console.shell.rendering import page
from app.core.errors import EmailNotVerified, NotFound
from app.core.locales import is_time_zone
from app.extensions import current_settings
from app.http.actions import run
from app.http.validation import Length, RequestQuery
from app.models.organization import ArchiveStatus
from app.models.user import User
from app.resources.auth import actions, guards
from app.resources.auth import schemas as s
from app.resources.auth.passkeys.verification import fault_of
from app.resources.auth.two_factor.challenges import StartedChallenge
from app.resources.organization import queries

AUTH_NAMES = {"otp": "code", "newPassword": "password", "rememberMe": "remember"}


@dataclass(frozen=True, kw_only=True)
class AccountQuery(RequestQuery):
    """The values that a link to an account page carries."""

    next: Annotated[str, fields.String(load_default="", validate=Length(max=2048))]
    email: Annotated[str, fields.String(load_default="", validate=Length(max=320))]
    token: Annotated[str, fields.String(load_default="", validate=Length(max=512))]
    invitation: Annotated[str, fields.String(load_default="", validate=Length(max=64))]


def _add_form(name: str) -> None:
    """Add a page that shows the form of its name. The values of a link fill it."""

    @blueprint.get(f"/{name}", endpoint=f"{name.replace('-', '_')}_page")
    @Page(guard=public(), query=AccountQuery)
    def account_form(*, scope: Scope, query: AccountQuery) -> Response:
        return page(
            f"account/{name.replace('-', '_')}.html",
            query=query,
            target=local_path(query.next),
            passkey_fault=fault_of(current_settings().server),
        )


for form_name in ("sign-in", "sign-up", "verify", "forgot-password", "reset-password"):
    _add_form(form_name)


@blueprint.post("/sign-in")
@Page(
    guard=public(),
    inputs=("email", "password", "remember"),
    query=AccountQuery,
    shown_by="sign_in_page",
    names=AUTH_NAMES,
)
def sign_in(*, scope: Scope, query: AccountQuery, form: Form) -> Response:
    """Sign in and return to the page that required it."""
    data = form.texts("email", "password") | {"rememberMe": form.is_checked("remember")}
    try:
        opened = run(lambda **_: actions.sign_in(**vars(s.SignInBody.loaded(data))), {}, guards.SIGN_IN)
    except EmailNotVerified:
        return see_other(f"{ROOT}/verify?{urlencode({'email': form.text('email')})}")
    if isinstance(opened, StartedChallenge):
        return see_other(f"{ROOT}/second-factor?{urlencode({'next': query.next})}")
    target = local_path(query.next)
    return see_other(first_page(opened.user) if target == ROOT else target)


def first_page(user: User) -> str:
    """Return the page after the sign-in: the project of a user who has only one, else the home page."""
    own: list[dict[str, Any]] = queries.of_user(user, status=ArchiveStatus.ACTIVE)
    projects = [project for organization in own for project in organization["projects"]]
    return f"{ROOT}/projects/{projects[0]['project_id']}" if len(projects) == 1 else ROOT


@blueprint.post("/sign-up")
@Page(guard=public(), inputs=("name", "email", "password", "timezone"), shown_by="sign_up_page")
def sign_up(*, scope: Scope, form: Form) -> Response:
    """Create an account. A code is mailed. A time zone that only the browser knows is ignored."""
    data, zone = form.texts("name", "email", "password"), form.text("timezone")
    zone_name = zone if is_time_zone(zone) else None
    run(lambda **_: actions.sign_up(s.SignUpBody.loaded(data).sent(), timezone=zone_name), {}, guards.SIGN_UP)
    return see_other(f"{ROOT}/verify?{urlencode({'email': form.text('email').strip()})}")


@blueprint.post("/verify")
@Page(guard=public(), inputs=("email", "code"), query=AccountQuery, shown_by="verify_page", names=AUTH_NAMES)
def verify(*, scope: Scope, query: AccountQuery, form: Form) -> Response:
    """Confirm the e-mail address and sign in."""
    data = {"email": form.text("email"), "otp": form.text("code").strip()}
    opened = run(lambda **_: actions.verify_email(**vars(s.VerifyEmailBody.loaded(data))), {}, guards.VERIFY)
    is_challenge = isinstance(opened, StartedChallenge)
    return see_other(f"{ROOT}/second-factor" if is_challenge else first_page(opened.user))


@blueprint.post("/verify/resend")
@Page(guard=public(), inputs=("email",), query=AccountQuery, shown_by="verify_page")
def resend_code(*, scope: Scope, query: AccountQuery, form: Form) -> Response:
    """Mail a new code."""
    run(lambda **_: actions.send_code(s.EmailBody.loaded(form.texts("email")).email), {}, guards.SEND_CODE)
    return see_other(f"{ROOT}/verify?{urlencode({'email': form.text('email'), 'done': 'code'})}")


@blueprint.post("/forgot-password")
@Page(guard=public(), inputs=("email",), query=AccountQuery, shown_by="forgot_password_page")
def forgot_password(*, scope: Scope, query: AccountQuery, form: Form) -> Response:
    """Mail a link to the page for a new password."""
    link = f"{current_settings().server.base_url}{ROOT}/reset-password"
    data = {"email": form.text("email"), "redirectTo": link}
    run(lambda **_: actions.mail_reset_link(**vars(s.ForgetPasswordBody.loaded(data))), {}, guards.FORGET_PASSWORD)
    return see_other(f"{ROOT}/forgot-password?done=reset")


@blueprint.post("/reset-password")
@Page(
    guard=public(), inputs=("password", "token"), query=AccountQuery, shown_by="reset_password_page", names=AUTH_NAMES
)
def reset_password(*, scope: Scope, query: AccountQuery, form: Form) -> Response:
    """Set the new password."""
    data = {"newPassword": form.text("password"), "token": form.text("token") or query.token}
    run(lambda **_: actions.reset_password(**vars(s.ResetPasswordBody.loaded(data))), {}, guards.RESET_PASSWORD)
    return see_other(f"{ROOT}/sign-in?done=password")


@blueprint.get("/invitation")
@Page(guard=public(), query=AccountQuery)
def invitation_page(*, scope: Scope, query: AccountQuery) -> Response:
    """Explain an invitation to a person who opens the link of the mail. The links fill the address in."""
    if is_signed_in():
        return see_other(ROOT)
    return page("account/invitation.html", invitation=queries.open_invitation(query.invitation))


@blueprint.post("/sign-out")
@Page(guard=public(), inputs=())
def sign_out(*, scope: Scope, form: Form) -> Response:
    """End the session."""
    run(lambda **_: actions.sign_out(), {}, guard=public())
    return see_other(f"{ROOT}/sign-in?done=signed-out")


@blueprint.get("/<path:unknown>")
@Page(guard=public())
def unknown_page(*, scope: Scope) -> Response:
    """Return the error page for an unknown URL."""
    raise NotFound
