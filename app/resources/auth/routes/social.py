"""Routes of the social login (spec 4.2): the start and the two callbacks."""

from flask import Response

from app.access.guards import public
from app.access.scope import Scope
from app.core.limits import InputLimits
from app.http.blueprint import ApiBlueprint
from app.http.endpoint import endpoint
from app.http.upstream_errors import UPSTREAM
from app.resources.auth import responses
from app.resources.auth.prepare import social
from app.resources.auth.schemas.social import CallbackQuery, SocialSignInBody, SocialStartedSchema

blueprint = ApiBlueprint(
    "auth_social",
    __name__,
    title="Social sign-in",
    description="Sign-in with an account of a code host or another provider.",
    parameters={
        "code": "The authorization code of the provider.",
        "error": "The error of the provider, instead of a code.",
        "state": "The one-time value of the start.",
    },
)
blueprint.after_request(responses.write_cookie)


@blueprint.post("/sign-in/social")
@endpoint(
    guard=public("public+rate"),
    body=SocialSignInBody,
    result=SocialStartedSchema,
    message="Continue at the provider",
    upstream=social.prepare,
    max_bytes=InputLimits.auth_bytes,
    rate="callback",
    errors=(
        "INVALID_REDIRECT",
        "PROVIDER_NOT_FOUND",
        *UPSTREAM,
    ),
)
def sign_in_social(*, scope: Scope, body: SocialSignInBody, prepared: social.PlannedLogin) -> dict[str, object]:
    """Start a social login and return the URL of the provider."""
    secret, url = social.start(prepared, browser=responses.browser_secret())
    responses.set_browser_secret(secret)
    return {"url": url, "redirect": True}


@blueprint.get("/callback/social_a")
@blueprint.get("/callback/github", endpoint="callback_github")
@endpoint(
    guard=public("public+state"),
    query=CallbackQuery,
    raw_response=True,
    redirect="Redirect to the web app",
    rate="callback",
)
def callback_social_a(*, scope: Scope, query: CallbackQuery) -> Response:
    """Finish a login at the code-hosting provider."""
    return responses.redirect(social.finish("social_a", query, browser=responses.browser_secret()))


@blueprint.get("/callback/social_b")
@blueprint.get("/callback/google", endpoint="callback_google")
@endpoint(
    guard=public("public+state"),
    query=CallbackQuery,
    raw_response=True,
    redirect="Redirect to the web app",
    rate="callback",
)
def callback_social_b(*, scope: Scope, query: CallbackQuery) -> Response:
    """Finish a login at the general-purpose provider."""
    return responses.redirect(social.finish("social_b", query, browser=responses.browser_secret()))
