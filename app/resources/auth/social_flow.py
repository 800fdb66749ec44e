"""Signing in at somebody else's, step by step around its transactions: the network is asked outside of them."""

import re
from urllib.parse import urlencode

import sqlalchemy as sa
import structlog
from flask import Response, g, request

from app import transactions
from app.core.errors import AppError, NotFound
from app.core.secrets import TOKEN_BYTES, new_token
from app.drivers.errors import DriverError, Rejected
from app.drivers.social_login.port import Attempt, Identity, SocialLogin, SocialLogins
from app.extensions import drivers
from app.http import login
from app.http.configuration import settings
from app.resources.auth import passwords, social
from app.resources.auth.social_schemas import CallbackQuery, SocialSignInBody

log = structlog.get_logger(__name__)

BROWSER_COOKIE = "login_browser"
CALLBACK_PATH = "/api/v1/auth/callback"
_ERROR = re.compile(r"[a-z_]{1,40}")
_TOKEN_LENGTH = TOKEN_BYTES * 4 // 3 + 1


class Failed(Exception):
    """The sign-in ends at the web app with `?error=` this word."""


def prepare(_scope: object, body: SocialSignInBody) -> tuple[Attempt, str, str]:
    """Plan an attempt: what to keep, where it may end, and where the browser goes now.

    Raises:
        NotFound: the provider is not configured.
        InvalidRedirect: the page is not one of ours.
    """
    name, server = social.ALIASES.get(body["provider"], body["provider"]), settings().server
    page = passwords.own_page(
        body["callback_url"], web_url=server.web_url, origins=server.allowed_origins, otherwise="/"
    )
    attempt = social.plan(_redirect_uri(name))
    return attempt, page, _driver(name).authorization_url(attempt)


def start(body: SocialSignInBody, attempt: Attempt, page: str, url: str) -> dict[str, object]:
    """Keep the attempt, bound to this browser by a cookie."""
    name, browser = social.ALIASES.get(body["provider"], body["provider"]), _browser() or new_token()
    social.keep(attempt, name, browser=browser, callback_url=page, limits=settings().limits.codes)
    g.browser_cookie = browser
    return {"url": url, "redirect": True}


def finish(provider: str, query: CallbackQuery) -> Response:
    """Send the browser back to the web app: signed in, or with `?error=`."""
    name = social.ALIASES.get(provider, provider)
    try:
        page = _enter(name, query)
    except Failed as failure:
        log.info("social.failed", provider=name, error=str(failure))
        page = f"{settings().server.web_url}/?{urlencode({'error': str(failure)})}"
    return _plain_redirect(page)


def _enter(name: str, query: CallbackQuery) -> str:
    with transactions.writing():
        taken = social.take(name, query["state"], browser=_browser() or "", redirect_uri=_redirect_uri(name))
    if taken is None:
        raise Failed("state_mismatch")
    if query["error"] or not query["code"]:
        raise Failed(query["error"] if _ERROR.fullmatch(query["error"]) else "provider_error")
    identity = _identify(name, query["code"], taken.attempt)
    _admit(name, identity)
    return taken.callback_url


def _identify(name: str, code: str, attempt: Attempt) -> Identity:
    try:
        return _driver(name).identify(code, attempt)
    except Rejected as error:
        raise Failed(error.code.lower()) from error
    except DriverError as error:
        raise Failed("provider_unavailable") from error
    except NotFound as error:
        raise Failed("provider_not_found") from error


def _admit(name: str, identity: Identity) -> None:
    limits = settings().limits
    try:
        with transactions.writing():
            opened = social.enter(
                name,
                identity,
                visitor=login.visitor(),
                session_limits=limits.sessions,
                code_limits=limits.codes,
            )
    except AppError as error:
        raise Failed(error.code.lower()) from error
    except sa.exc.IntegrityError as error:  # the same person came back twice at the same moment
        raise Failed("try_again") from error
    login.admit(opened)


def _driver(name: str) -> SocialLogin:
    configured: SocialLogins = drivers["social_login"]
    found = configured.get(name)
    if found is None:
        raise NotFound("This login provider is not set up here", code="PROVIDER_NOT_FOUND")
    return found


def _redirect_uri(name: str) -> str:
    return f"{settings().server.base_url}{CALLBACK_PATH}/{name}"


def _browser() -> str | None:
    """The secret in this browser's cookie, where it has the form of one of ours."""
    known = request.cookies.get(browser_cookie_name(), "")
    return known if len(known) == _TOKEN_LENGTH else None


def browser_cookie_name() -> str:
    """`__Host-` as for the session cookie."""
    return f"__Host-{BROWSER_COOKIE}" if login.is_https() else BROWSER_COOKIE


def write_cookie(response: Response) -> Response:
    """Send the browser's secret along, where an attempt was kept."""
    secret: str | None = g.pop("browser_cookie", None)
    if secret is not None and response.status_code < 400:
        response.set_cookie(
            browser_cookie_name(),
            secret,
            max_age=settings().limits.codes.state_ttl_s,
            secure=login.is_https(),
            httponly=True,
            samesite="Lax",
            path="/",
        )
    return response


def _plain_redirect(page: str) -> Response:
    response = Response(status=302, headers={"Location": page})
    response.headers["Cache-Control"] = "no-store"
    return response
