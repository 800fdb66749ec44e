"""Redirects of the social login, and the cookie that identifies a browser until its sign-in ends."""

from flask import Response, g, request

from app.access import authentication
from app.extensions import current_settings
from app.security.secrets import TOKEN_BYTES, new_token

BROWSER_COOKIE = "login_browser"
_TOKEN_LENGTH = TOKEN_BYTES * 4 // 3 + 1


def browser_cookie_name() -> str:
    """Return the name of the cookie, with the prefix `__Host-` if the service runs under https."""
    return f"__Host-{BROWSER_COOKIE}" if authentication.is_https() else BROWSER_COOKIE


def browser_secret() -> str | None:
    """Return the secret of the cookie, or None if it is missing or malformed."""
    secret = request.cookies.get(browser_cookie_name(), "")
    return secret if len(secret) == _TOKEN_LENGTH else None


def set_browser_secret(secret: str) -> None:
    """Send the secret with the response of this request."""
    g.browser_cookie = secret


def ensure_browser_secret() -> str:
    """Return the secret of the browser, or a new one. It is sent with the response of this request."""
    secret = browser_secret() or new_token()
    set_browser_secret(secret)
    return secret


def write_cookie(response: Response) -> Response:
    """Add the cookie to a successful response for which a secret was set."""
    secret: str | None = g.pop("browser_cookie", None)
    if secret is not None and response.status_code < 400:
        response.set_cookie(
            browser_cookie_name(),
            secret,
            max_age=current_settings().limits.codes.state_ttl_s,
            secure=authentication.is_https(),
            httponly=True,
            samesite="Lax",
            path="/",
        )
    return response


def redirect(page: str) -> Response:
    """Build a redirect that is not cached."""
    return Response(status=302, headers={"Location": page, "Cache-Control": "no-store"})
