"""Routes of the social login (spec 4.2): the start and the two callbacks."""

import re
from dataclasses import dataclass

import structlog
from flask import Response

from app.access import authentication
from app.access.guards import public
from app.access.scope import Scope
from app.core.errors import AppError, NotFound
from app.core.limits import InputLimits
from app.core.urls import with_query
from app.database import transactions
from app.database.errors import IntegrityError
from app.drivers.errors import DriverError, UpstreamRejected
from app.drivers.social_login.port import AuthorizationRequest, Identity, SocialLogin, SocialLogins
from app.extensions import current_settings, drivers
from app.http.blueprint import ApiBlueprint
from app.http.endpoint import UPSTREAM, endpoint
from app.resources.auth import passwords, responses, social_login
from app.resources.auth.schemas import CallbackQuery, SocialSignInBody, SocialStartedSchema
from app.resources.auth.social_login import LoginPages
from app.resources.auth.two_factor.actions import enter, trusted_device
from app.resources.auth.two_factor.challenges import SignedIn, StartedChallenge

log = structlog.get_logger(__name__)

CALLBACK_PATH = "/api/v1/auth/callback"
_ERROR = re.compile(r"[a-z_]{1,40}")


class SocialLoginFailed(Exception):
    """The sign-in failed. The browser is sent to `page` with the code as the query parameter `error`."""

    def __init__(self, code: str, *, page: str | None = None) -> None:
        super().__init__(code)
        self.page = page


@dataclass(frozen=True)
class PlannedLogin:
    """A sign-in that is about to start: its secrets, its pages and the URL of the provider."""

    provider: str
    attempt: AuthorizationRequest
    pages: LoginPages
    url: str


def plan_sign_in(scope: object, body: SocialSignInBody) -> PlannedLogin:
    """Plan a sign-in.

    Raises:
        NotFound: the provider is not configured.
        InvalidRedirect: a page is outside the allowed origins.
    """
    name = social_login.ALIASES.get(body.provider, body.provider)
    attempt = social_login.create_state(_redirect_uri(name))
    error_page = _page(body.error_callback_url) if body.error_callback_url else None
    pages = LoginPages(_page(body.callback_url), error_page)
    return PlannedLogin(name, attempt, pages, _driver(name).authorization_url(attempt))


def start(planned: PlannedLogin, *, browser: str) -> str:
    """Store the attempt for a browser. Return the URL of the provider."""
    social_login.store_attempt(
        planned.attempt,
        planned.provider,
        browser=browser,
        pages=planned.pages,
        limits=current_settings().limits.codes,
    )
    return planned.url


def finish(provider: str, query: CallbackQuery, *, browser: str | None) -> str:
    """Finish a sign-in and return the page to which the browser is sent, with `?error=` after a failure."""
    name = social_login.ALIASES.get(provider, provider)
    try:
        return _sign_in(name, query, browser or "")
    except SocialLoginFailed as failure:
        log.info("social_login.failed", provider=name, error=str(failure))
        return with_query(failure.page or _page(None), "error", str(failure))


def _sign_in(name: str, query: CallbackQuery, browser: str) -> str:
    with transactions.write_transaction():
        state = social_login.redeem(name, query.state, browser=browser, redirect_uri=_redirect_uri(name))
    if state is None:
        raise SocialLoginFailed("state_mismatch")
    try:
        signed_in = _open_session(name, _identify(name, _code(query), state.attempt))
    except SocialLoginFailed as failure:
        failure.page = state.pages.error
        raise
    page, is_challenge = state.pages.success, isinstance(signed_in, StartedChallenge)
    return with_query(page, "twoFactorRedirect", "true") if is_challenge else page


def _code(query: CallbackQuery) -> str:
    if query.error or not query.code:
        raise SocialLoginFailed(query.error if _ERROR.fullmatch(query.error) else "provider_error")
    return query.code


def _identify(name: str, code: str, attempt: AuthorizationRequest) -> Identity:
    try:
        return _driver(name).identify(code, attempt)
    except UpstreamRejected as error:
        raise SocialLoginFailed(error.code.lower()) from error
    except DriverError as error:
        raise SocialLoginFailed("provider_unavailable") from error
    except NotFound as error:
        raise SocialLoginFailed("provider_not_found") from error


def _open_session(name: str, identity: Identity) -> SignedIn:
    try:
        with transactions.write_transaction():
            signed_in = social_login.sign_in_with_identity(
                name,
                identity,
                visitor=authentication.client_info(),
                limits=current_settings().limits,
                device=trusted_device(),
            )
    except AppError as error:
        raise SocialLoginFailed(error.code.lower()) from error
    except IntegrityError as error:  # Two callbacks of the same person at the same moment.
        raise SocialLoginFailed("try_again") from error
    return enter(signed_in)


def _driver(name: str) -> SocialLogin:
    configured: SocialLogins = drivers.social_login
    driver = configured.get(name)
    if driver is None:
        raise NotFound("This login provider is not configured", code="PROVIDER_NOT_FOUND")
    return driver


def _page(url: str | None) -> str:
    server = current_settings().server
    return passwords.resolve_redirect(url, web_url=server.web_url, origins=server.allowed_origins, otherwise="/")


def _redirect_uri(name: str) -> str:
    return f"{current_settings().server.base_url}{CALLBACK_PATH}/{name}"


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


@blueprint.post("/sign-in/social")
@endpoint(
    operation_id="startSocialSignIn",
    guard=public("public+rate"),
    body=SocialSignInBody,
    result=SocialStartedSchema,
    message="Continue at the provider",
    upstream=plan_sign_in,
    max_bytes=InputLimits.auth_bytes,
    rate="callback",
    errors=("INVALID_REDIRECT", "PROVIDER_NOT_FOUND", *UPSTREAM),
)
def sign_in_social(*, scope: Scope, body: SocialSignInBody, prepared: PlannedLogin) -> dict[str, object]:
    """Start a social login and return the URL of the provider."""
    return {"url": start(prepared, browser=responses.ensure_browser_secret()), "redirect": True}


@blueprint.get("/callback/social_a")
@blueprint.get("/callback/github", endpoint="callback_github")
@endpoint(
    operation_id="completeCodeHostSignIn",
    guard=public("public+state"),
    query=CallbackQuery,
    raw_response=True,
    redirect="Redirect to the web app",
    rate="callback",
)
def callback_social_a(*, scope: Scope, query: CallbackQuery) -> Response:
    """Finish a login at the code-hosting provider."""
    return responses.redirect(finish("social_a", query, browser=responses.browser_secret()))


@blueprint.get("/callback/social_b")
@blueprint.get("/callback/google", endpoint="callback_google")
@endpoint(
    operation_id="completeGeneralSignIn",
    guard=public("public+state"),
    query=CallbackQuery,
    raw_response=True,
    redirect="Redirect to the web app",
    rate="callback",
)
def callback_social_b(*, scope: Scope, query: CallbackQuery) -> Response:
    """Finish a login at the general-purpose provider."""
    return responses.redirect(finish("social_b", query, browser=responses.browser_secret()))
