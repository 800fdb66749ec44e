"""Redirects of the social login, and the cookie that identifies a browser until its sign-in ends."""

from flask import Response

from app.access import authentication
from app.extensions import current_settings
from app.security.secrets import new_token

BROWSER_COOKIE = "login_browser"


def browser_secret() -> str | None:
    """Return the secret of the cookie, or None if it is missing or malformed."""
    return authentication.read_secret(BROWSER_COOKIE)


def set_browser_secret(secret: str) -> None:
    """Send the secret with the response of this request."""
    authentication.set_cookie(BROWSER_COOKIE, secret, current_settings().limits.codes.state_ttl_s)


def ensure_browser_secret() -> str:
    """Return the secret of the browser, or a new one. It is sent with the response of this request."""
    secret = browser_secret() or new_token()
    set_browser_secret(secret)
    return secret


def redirect(page: str) -> Response:
    """Build a redirect that is not cached."""
    return Response(status=302, headers={"Location": page, "Cache-Control": "no-store"})
