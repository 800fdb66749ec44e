"""WSGI middleware that forwards `<label>.<PREVIEW_HOST>` to the server in that sandbox, for members only.

It runs before the application, so a preview never receives the routes, cookies and headers of the service. The token of
a link is exchanged for a cookie of the preview host. A visitor without a token, a cookie or a membership receives 403.
Rates apply per member and preview, or per address for other visitors. Concurrent requests are limited per preview.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from urllib.parse import parse_qsl, urlencode
from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

import structlog
from flask import Flask, Request, Response
from werkzeug.http import parse_cookie
from werkzeug.wsgi import ClosingIterator

from app.access.client_address import client_address, network_of
from app.concurrency.bounded import ConcurrencyLimiter
from app.database import transactions
from app.database.errors import DatabaseError, is_transient
from app.drivers.errors import DriverError
from app.drivers.sandbox.port import SandboxHost, Upstream
from app.extensions import drivers, limiter
from app.models.sandbox import ACTIVE_STATES, PreviewState
from app.preview_proxy import pages
from app.preview_proxy.http_exchange import proxy_request
from app.preview_proxy.websocket import is_cross_origin, is_upgrade, upgrade
from app.resources.sandbox import service
from app.security.preview_links import COOKIE, COOKIE_AGE_S, PARAMETER, SECURE_COOKIE, PreviewLinkSigner
from config import Settings

log = structlog.get_logger(__name__)

LABEL = re.compile(r"[0-9a-f]{32}")


@dataclass(frozen=True)
class PreviewAccess:
    """The state of a sandbox that its members may read."""

    state: PreviewState
    host_id: str | None
    problem: str | None
    log: str | None
    expired: bool


def init_app(app: Flask) -> None:
    """Wrap the WSGI application in the proxy."""
    settings: Settings = app.config["SETTINGS"]
    app.wsgi_app = PreviewProxy(app, settings)  # type: ignore[method-assign]


class PreviewProxy:
    """The WSGI middleware that serves the preview hosts."""

    def __init__(self, app: Flask, settings: Settings) -> None:
        self._app, self._settings = app, settings
        self._next: WSGIApplication = app.wsgi_app
        self._suffix = "." + settings.sandbox.preview_host.partition(":")[0].lower()
        self._links = PreviewLinkSigner(settings.security.secret_key)
        self._secure = settings.server.base_url.startswith("https:")
        self._cookie = SECURE_COOKIE if self._secure else COOKIE
        limits = settings.limits.sandbox
        self._slots = ConcurrencyLimiter(per_key=limits.requests, total=limits.requests_total)
        self._check_s = limits.membership_check_s

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        """Serve a request to a preview host. Pass every other request to the application."""
        host = environ.get("HTTP_HOST", "").lower().rpartition("@")[2].partition(":")[0].rstrip(".")
        if not host.endswith(self._suffix):
            return self._next(environ, start_response)
        label = host.removesuffix(self._suffix)
        if LABEL.fullmatch(label) is None:
            return pages.no_preview()(environ, start_response)
        try:
            return self._serve(label, environ, start_response)
        except DatabaseError as error:
            if not is_transient(error):
                raise
            return pages.unavailable()(environ, start_response)

    def _serve(self, label: str, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        query = parse_qsl(environ.get("QUERY_STRING", ""), keep_blank_values=True)
        token = next((value for name, value in query if name == PARAMETER), None)
        user_id = self._links.user_of_cookie(parse_cookie(environ).get(self._cookie, ""), label)
        if token is not None:
            user_id = self._links.user_of_link(token, label) or user_id
        wait_s = self._acquire_rate(label, user_id, environ)
        if wait_s:
            return pages.too_many(wait_s)(environ, start_response)
        access = self._find_access(label, user_id)
        if user_id is None or access is None:
            return pages.forbidden()(environ, start_response)
        if token is not None:
            return self._admit(label, user_id, query, environ)(environ, start_response)
        if not self._slots.acquire(label):
            return pages.too_many(1)(environ, start_response)
        try:
            response = self._forward(label, user_id, access, environ, start_response)
        except BaseException:
            self._slots.release(label)
            raise
        return ClosingIterator(response, lambda: self._slots.release(label))

    def _forward(
        self, label: str, user_id: str, access: PreviewAccess, environ: WSGIEnvironment, start_response: StartResponse
    ) -> Iterable[bytes]:
        """Forward the request to the sandbox, or return the page of its state."""
        if is_upgrade(environ) and is_cross_origin(environ):
            return pages.another_site()(environ, start_response)
        try:
            upstream = self._connect(access)
        except DriverError as error:
            log.info("preview.unreachable", label=label, error=str(error))
            return pages.ended()(environ, start_response)
        if upstream is None:
            return _state_page(access)(environ, start_response)
        forward = upgrade if is_upgrade(environ) else proxy_request

        def is_member() -> bool:
            return self._find_access(label, user_id) is not None

        return forward(environ, start_response, upstream, allowed=is_member, check_s=self._check_s)

    def _acquire_rate(self, label: str, user_id: str | None, environ: WSGIEnvironment) -> int:
        """Count the request. Return the seconds to wait if a rate is exceeded, else 0."""
        rates = self._settings.limits.rates
        with self._app.app_context():
            if user_id is not None:
                return limiter.try_acquire(rates.preview, "preview", f"{label} {user_id}")
            visitor = client_address(Request(environ), trusted_hops=self._settings.server.trusted_hops)
            return limiter.try_acquire(rates.preview_address, "preview_address", network_of(visitor))

    def _admit(self, label: str, user_id: str, query: list[tuple[str, str]], environ: WSGIEnvironment) -> Response:
        """Exchange the token of a link for the cookie, and redirect to the URL without the token."""
        query_string = urlencode([pair for pair in query if pair[0] != PARAMETER])
        path = "/" + environ.get("PATH_INFO", "").encode("latin-1").decode(errors="replace").lstrip("/\\")
        return pages.admitted(
            path,
            query_string,
            name=self._cookie,
            value=self._links.cookie(label, user_id),
            max_age_s=COOKIE_AGE_S,
            secure=self._secure,
            is_framed=environ.get("HTTP_SEC_FETCH_DEST") == "iframe",
        )

    def _find_access(self, label: str, user_id: str | None) -> PreviewAccess | None:
        """Return the state of the sandbox, or None if the user is not a member or the preview does not exist."""
        if user_id is None:
            return None
        with transactions.reading_context(self._app):
            row = service.find_of_member(label, user_id)
            if row is None:
                return None
            return PreviewAccess(row.state, row.host_id, row.problem, row.log, row.state not in ACTIVE_STATES)

    def _connect(self, access: PreviewAccess) -> Upstream | None:
        """Connect to a running sandbox. Return None for any other state, which has a page."""
        if access.state is not PreviewState.RUNNING or access.host_id is None:
            return None
        with self._app.app_context():
            host: SandboxHost = drivers.sandbox
        return host.connect(access.host_id)


def _state_page(access: PreviewAccess) -> Response:
    if access.state is PreviewState.FAILED:
        return pages.failed(access.problem or "", access.log or "")
    return pages.ended() if access.expired else pages.starting()
