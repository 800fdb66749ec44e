"""Who is calling: the session cookie, and whom it stands for, through Flask-Login's request loader."""

from datetime import datetime, timedelta
from typing import Any, Protocol, TypeVar

import sqlalchemy as sa
from flask import Flask, Request, Response, current_app, g, request
from flask.sessions import SessionInterface
from flask_login import current_user

from app.core import clock
from app.core.locales import LANGUAGES
from app.core.visitor import Visitor
from app.extensions import db, login_manager
from app.http.caller import Caller, caller_of
from app.http.client_address import client_address
from app.models.base import moment
from app.models.login import Session

COOKIE = "session_token"
SEEN_EVERY = timedelta(minutes=5)


class Opened(Protocol):
    """A session that was just opened or got a new token; `max_age_s` None ends with the browser."""

    @property
    def token(self) -> str:
        """What the cookie carries."""

    @property
    def max_age_s(self) -> int | None:
        """How long the browser keeps it."""


class NoFlaskSession(SessionInterface):
    """Flask's own session is used by nobody here; none is read from cookies, signed or written."""

    def open_session(self, app: Flask, request: Request) -> None:
        """There is none."""


OpenedT = TypeVar("OpenedT", bound=Opened)
T = TypeVar("T")


def init_app(app: Flask) -> None:
    """Let Flask-Login ask us, and only us, for the user of a request; write the cookie of who signs in or out."""
    manager: Any = login_manager
    manager.session_protection = None
    manager.request_loader(_load)
    manager.init_app(app)
    app.session_interface = NoFlaskSession()
    app.after_request(_write_cookie)


def cookie_name() -> str:
    """`__Host-` binds the cookie to this host where the base URL is https."""
    return f"__Host-{COOKIE}" if is_https() else COOKIE


def is_https() -> bool:
    """Whether browsers reach the service by https only."""
    base_url: str = current_app.config["SETTINGS"].server.base_url
    return base_url.startswith("https:")


def caller() -> Caller | None:
    """Who is signed in, with their session; looked for once a request."""
    if "caller" not in g:
        user: Any = current_user
        g.caller = user._get_current_object() if user.is_authenticated else None
    found: Caller | None = g.caller
    return found


def _load(request: Request) -> Caller | None:
    token = request.cookies.get(cookie_name())
    return caller_of(token) if token else None


def session() -> Session | None:
    """The session of this request."""
    found = caller()
    return found.session if found is not None else None


def attach() -> None:
    """Make the caller objects of the database session now, so that what is read anew before a write includes them."""
    found = caller()
    if found is not None:
        _ = found.user, found.session


def visitor() -> Visitor:
    """Who is calling, as a session keeps it, and the language they read."""
    hops = current_app.config["SETTINGS"].server.trusted_hops
    language = request.accept_languages.best_match(LANGUAGES) or "en"
    return Visitor(client_address(request, trusted_hops=hops), request.headers.get("User-Agent"), language)


def is_due(last_seen_at: datetime) -> bool:
    """Whether last-seen is to be written again."""
    return clock.now() - last_seen_at >= SEEN_EVERY


def note_seen(found: Caller) -> None:
    """Write last-seen, at most every five minutes (limits, section 1), in a transaction of its own."""
    seen = found.session_row
    if not is_due(seen.last_seen_at):
        return
    now = moment()
    limits = current_app.config["SETTINGS"].limits.sessions
    idle = timedelta(seconds=limits.idle_s) if seen.remember else seen.expires_at - now
    with db.engine.begin() as connection:
        connection.execute(
            sa.update(Session).where(Session.id == seen.id).values(last_seen_at=now, idle_expires_at=now + idle)
        )


def admit(opened: OpenedT) -> OpenedT:
    """Send the token as the session cookie with the answer."""
    g.new_cookie = (opened.token, opened.max_age_s)
    return opened


def dismiss(answer: T) -> T:
    """Clear the session cookie with the answer."""
    g.new_cookie = ("", 0)
    return answer


def _write_cookie(response: Response) -> Response:
    wanted: tuple[str, int | None] | None = g.pop("new_cookie", None)
    if wanted is not None and response.status_code < 400:
        name = cookie_name()
        response.set_cookie(
            name,
            wanted[0],
            max_age=wanted[1],
            secure=name.startswith("__Host-"),
            httponly=True,
            samesite="Lax",
            path="/",
        )
    return response
