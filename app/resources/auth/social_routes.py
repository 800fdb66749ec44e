"""Signing in at somebody else's (spec 4.2): the way out and the two ways back."""

from flask import Blueprint, Response

from app.core.limits import InputLimits
from app.drivers.social_login.port import Attempt
from app.http.endpoint import endpoint
from app.http.guards import public
from app.http.scope import Scope
from app.resources.auth import social_flow
from app.resources.auth.social_schemas import Callback, CallbackQuery, SocialSignIn, SocialSignInBody, SocialStarted

blueprint = Blueprint("auth_social", __name__)
blueprint.after_request(social_flow.write_cookie)


@blueprint.post("/sign-in/social")
@endpoint(
    guard=public("public+rate"), body=SocialSignIn, result=SocialStarted, message="Go on at the provider",
    prepare=social_flow.prepare, max_bytes=InputLimits.auth_bytes, rate="callback",
)  # fmt: skip
def sign_in_social(_scope: Scope, body: SocialSignInBody, planned: tuple[Attempt, str, str]) -> dict[str, object]:
    """Begin a social login: the address to send the browser to."""
    return social_flow.start(body, *planned)


@blueprint.get("/callback/social_a")
@blueprint.get("/callback/github", endpoint="callback_github")
@endpoint(guard=public("public+state"), query=Callback, raw=True, message="Back to the web app", rate="callback")
def callback_social_a(_scope: Scope, query: CallbackQuery) -> Response:
    """Finish a login at the code-hosting provider."""
    return social_flow.finish("social_a", query)


@blueprint.get("/callback/social_b")
@blueprint.get("/callback/google", endpoint="callback_google")
@endpoint(guard=public("public+state"), query=Callback, raw=True, message="Back to the web app", rate="callback")
def callback_social_b(_scope: Scope, query: CallbackQuery) -> Response:
    """Finish a login at the general-purpose provider."""
    return social_flow.finish("social_b", query)
