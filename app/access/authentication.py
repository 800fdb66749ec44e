"""Authentication of a request by its API token or session cookie. `current_user` of Flask-Login is the caller."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any, Protocol, TypeVar

import sqlalchemy as sa
from flask import Flask, Request, Response, current_app, g, request
from flask.sessions import SessionInterface
from werkzeug.datastructures import LanguageAccept
from werkzeug.http import parse_accept_header

from app.access import tokens
from app.access.caller import Caller, CallerSession, JoinedTarget, caller_of, is_stored_session
from app.access.client_address import client_address
from app.core import clock
from app.core.client_info import ClientInfo
from app.core.errors import NotAuthenticated, ReauthRequired
from app.core.limits import SessionLimits
from app.core.locales import LANGUAGES
from app.database.transactions import in_write_transaction, release_connection
from app.extensions import db, login_manager
from app.models.base import utcnow_ms
from app.models.login import ApiToken, Session
from app.security.secrets import TOKEN_LENGTH

COOKIE = "session_token"
MAX_LANGUAGE_CHARACTERS = 500
"""The part of `Accept-Language` that is read. Each range is compared with each supported language."""

ACTIVITY_INTERVAL = timedelta(seconds=SessionLimits.touch_s)
T = TypeVar("T")


class SessionToken(Protocol):
    """A new or renewed session. The cookie ends with the browser if `max_age_s` is None."""

    @property
    def token(self) -> str:
        """The value of the cookie."""

    @property
    def max_age_s(self) -> int | None:
        """The lifetime of the cookie."""


class NoFlaskSession(SessionInterface):
    """A session interface that reads and writes no Flask session."""

    def open_session(self, app: Flask, request: Request) -> None:
        """Return no session."""


OpenedT = TypeVar("OpenedT", bound=SessionToken)


def init_app(app: Flask) -> None:
    """Register the request loader of Flask-Login and the hook that writes cookies."""
    manager: Any = login_manager
    manager.session_protection = None
    manager.request_loader(lambda _request: caller())
    manager.init_app(app)
    # With a cookie of this name Flask-Login calls no request loader. A cookie without a name is never read.
    app.config["REMEMBER_COOKIE_NAME"] = ""
    app.session_interface = NoFlaskSession()
    app.after_request(_write_cookies)


def cookie_name(name: str = COOKIE) -> str:
    """Return the full name of a cookie. The prefix `__Host-` binds it to this host if the base URL is https."""
    return f"__Host-{name}" if is_https() else name


def is_https() -> bool:
    """Return True if browsers reach the service by https only."""
    base_url: str = current_app.config["SETTINGS"].server.base_url
    return base_url.startswith("https:")


def caller() -> Caller | None:
    """Return the caller with a valid session or API token, or None. It is loaded once per request."""
    return caller_with(None)[0]


def caller_with(target: JoinedTarget | None) -> tuple[Caller | None, Sequence[object] | None]:
    """Return the caller, and the values of the target of the request if the statement of the session read them.

    The connection returns to its pool: the body of the request may arrive slowly, and a rate limit may need a store.
    """
    values = None
    if "caller" not in g:
        g.caller, values = _load(request, target)
        if not in_write_transaction():
            release_connection()
    result: Caller | None = g.caller
    return result, values


def _load(request: Request, target: JoinedTarget | None = None) -> tuple[Caller | None, Sequence[object] | None]:
    """Load the caller. A request with a bearer token never uses the cookie."""
    bearer = tokens.bearer_of(request)
    if bearer is not None:
        return tokens.caller_of_api_token(bearer), None
    token = request.cookies.get(cookie_name())
    return caller_of(token, target) if token else (None, None)


def has_bearer() -> bool:
    """Return True if the request carries a bearer token, valid or not."""
    return tokens.bearer_of(request) is not None


def ignore_api_token() -> None:
    """Process the request without a caller if it carries a bearer token. Neither the token nor the cookie counts."""
    if has_bearer():
        g.caller = None


def not_authenticated() -> NotAuthenticated:
    """Return the error of a request without a valid session or API token."""
    return tokens.InvalidApiToken() if has_bearer() else NotAuthenticated()


def is_authentication_valid() -> bool:
    """Return whether the session or API token of an authenticated caller still exists.

    Also true for a request without one.
    """
    return caller() is None or _load(request)[0] is not None


def session() -> CallerSession | None:
    """Return the session of this request, or None."""
    current = caller()
    return current.session if current is not None and current.grant is None else None


def is_recent(current: CallerSession) -> bool:
    """Return whether the user of a session has signed in, or proved the identity again, a short time ago."""
    recent = timedelta(seconds=current_app.config["SETTINGS"].limits.sessions.recent_s)
    return current.authenticated_at > clock.now() - recent


def check_recent(current: CallerSession | None) -> None:
    """Require a recent session. An API token has no session and passes: its scopes decide, and a session made it.

    Raises:
        ReauthRequired: the session is older.
    """
    if current is not None and not is_recent(current):
        raise ReauthRequired


def mark_recent(at: datetime) -> None:
    """Let the session count as recent in the remaining part of this request, as its row says for later requests."""
    current = caller()
    if current is not None and current.optional_session is not None:
        renewed = replace(current.optional_session, reauthenticated_at=at)
        g.caller = replace(current, optional_session=renewed)


def has_ended_session() -> bool:
    """Return whether the request has the cookie of a stored session that is no longer valid."""
    token = request.cookies.get(cookie_name())
    return caller() is None and not has_bearer() and token is not None and is_stored_session(token)


def client_info() -> ClientInfo:
    """Return the address, browser and language of the client."""
    hops = current_app.config["SETTINGS"].server.trusted_hops
    return ClientInfo(client_address(request, trusted_hops=hops), request.headers.get("User-Agent"), browser_language())


def browser_language() -> str:
    """Return the supported language that the browser prefers. It is determined once per request."""
    if "browser_language" not in g:
        header = request.headers.get("Accept-Language", "")[:MAX_LANGUAGE_CHARACTERS]
        g.browser_language = parse_accept_header(header, LanguageAccept).best_match(LANGUAGES) or "en"
    language: str = g.browser_language
    return language


def _needs_activity_update(last_use: datetime) -> bool:
    """Return True if the time of the last use is older than `ACTIVITY_INTERVAL`."""
    return clock.now() - last_use >= ACTIVITY_INTERVAL


def update_activity(current: Caller) -> None:
    """Write the time of the last use in a separate transaction, at most every five minutes (limits, section 1)."""
    if current.grant is not None:
        _update_last_use(current.grant.id, current.token_used_at)
        return
    row = current.session
    if not _needs_activity_update(row.last_seen_at):
        return
    now = utcnow_ms()
    limits = current_app.config["SETTINGS"].limits.sessions
    idle = timedelta(seconds=limits.idle_s) if row.remember else row.expires_at - now
    with db.engine.begin() as connection:
        connection.execute(
            sa.update(Session).where(Session.id == row.id).values(last_seen_at=now, idle_expires_at=now + idle)
        )


def _update_last_use(token_id: str, last_used_at: datetime | None) -> None:
    if last_used_at is not None and not _needs_activity_update(last_used_at):
        return
    with db.engine.begin() as connection:
        used_now = sa.update(ApiToken).where(ApiToken.id == token_id)
        connection.execute(used_now.values(last_used_at=utcnow_ms(), updated_at=ApiToken.updated_at))


def set_session_cookie(opened: OpenedT) -> OpenedT:
    """Send the token as the session cookie with the response."""
    set_cookie(COOKIE, opened.token, opened.max_age_s)
    return opened


def clear_session_cookie(result: T) -> T:
    """Clear the session cookie with the response."""
    set_cookie(COOKIE, "", 0)
    return result


def read_secret(name: str) -> str | None:
    """Return the token in a cookie of this service, or None if it is missing or has another length."""
    secret = request.cookies.get(cookie_name(name), "")
    return secret if len(secret) == TOKEN_LENGTH else None


def set_cookie(name: str, value: str, max_age_s: int | None) -> None:
    """Send a cookie with a successful response. It ends with the browser if `max_age_s` is None, and at once if 0."""
    if "new_cookies" not in g:
        g.new_cookies = {}
    g.new_cookies[cookie_name(name)] = (value, max_age_s)


def _write_cookies(response: Response) -> Response:
    cookies: dict[str, tuple[str, int | None]] = g.pop("new_cookies", {})
    for name, (value, max_age_s) in cookies.items() if response.status_code < 400 else ():
        response.set_cookie(name, value, max_age=max_age_s, secure=is_https(), httponly=True, samesite="Lax", path="/")
    return response
