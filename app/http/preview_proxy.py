"""Previews by host name: `<label>.<PREVIEW_HOST>` goes to the server inside that sandbox, for members only.

Stands before the application, whose routes, cookies and headers a preview never sees. A link's token becomes a cookie
of the preview's own host; who has neither, or is no member any more, gets 403. Members are counted by preview, everybody
else by address, and requests at once by preview.
"""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl, urlencode

import sqlalchemy as sa
import structlog
from flask import Flask, Request, Response
from werkzeug.http import parse_cookie
from werkzeug.wsgi import ClosingIterator

from app import transactions
from app.core.database import is_passing
from app.core.preview_links import COOKIE, COOKIE_AGE_S, PARAMETER, SECURE_COOKIE, Links
from app.drivers.errors import DriverError
from app.drivers.sandbox.port import SandboxHost, Upstream
from app.extensions import db, drivers, limiter
from app.http import preview_pages as pages
from app.http.client_address import client_address, network_of
from app.http.preview_exchange import exchange
from app.http.preview_upgrade import is_from_elsewhere, is_upgrade, upgrade
from app.http.slots import Slots
from app.models.organization import Membership
from app.models.project import Project
from app.models.project_preview import PreviewState
from app.models.sandbox import LIVE, Sandbox
from config import Settings

log = structlog.get_logger(__name__)

LABEL = re.compile(r"[0-9a-f]{32}")
Environ = dict[str, Any]
StartResponse = Callable[..., Any]


@dataclass(frozen=True)
class Standing:
    """A sandbox as one of its members may know it."""

    state: PreviewState
    reference: str | None
    problem: str | None
    log: str | None
    expired: bool


def init_app(app: Flask) -> None:
    """Stand before the application."""
    settings: Settings = app.config["SETTINGS"]
    app.wsgi_app = PreviewProxy(app, settings)  # type: ignore[method-assign]


class PreviewProxy:
    """The WSGI callable before the application's own."""

    def __init__(self, app: Flask, settings: Settings) -> None:
        self._app, self._settings = app, settings
        self._next: Callable[[Environ, StartResponse], Iterable[bytes]] = app.wsgi_app
        self._suffix = "." + settings.sandbox.preview_host.partition(":")[0].lower()
        self._links = Links(settings.security.secret_key)
        self._secure = settings.server.base_url.startswith("https:")
        self._cookie = SECURE_COOKIE if self._secure else COOKIE
        limits = settings.limits.sandbox
        self._slots = Slots(each=limits.requests, of_all=limits.requests_of_all)

    def __call__(self, environ: Environ, start_response: StartResponse) -> Iterable[bytes]:
        """Answer for a preview's host name; leave every other one to the application."""
        host = environ.get("HTTP_HOST", "").lower().rpartition("@")[2].partition(":")[0].rstrip(".")
        if not host.endswith(self._suffix):
            return self._next(environ, start_response)
        label = host.removesuffix(self._suffix)
        if LABEL.fullmatch(label) is None:
            return pages.no_preview()(environ, start_response)
        try:
            return self._serve(label, environ, start_response)
        except sa.exc.SQLAlchemyError as error:
            if not is_passing(error):
                raise
            return pages.unavailable()(environ, start_response)

    def _serve(self, label: str, environ: Environ, start_response: StartResponse) -> Iterable[bytes]:
        query = parse_qsl(environ.get("QUERY_STRING", ""), keep_blank_values=True)
        token = next((value for name, value in query if name == PARAMETER), None)
        user_id = self._links.user_of_cookie(parse_cookie(environ).get(self._cookie, ""), label)
        if token is not None:
            user_id = self._links.user_of_link(token, label) or user_id
        wait_s = self._wait_s(label, user_id, environ)
        if wait_s:
            return pages.too_many(wait_s)(environ, start_response)
        standing = self._standing(label, user_id)
        if user_id is None or standing is None:
            return pages.not_a_member()(environ, start_response)
        if token is not None:
            return self._admit(label, user_id, query, environ)(environ, start_response)
        if not self._slots.take(label):
            return pages.too_many(1)(environ, start_response)
        try:
            answer = self._pass(label, user_id, standing, environ, start_response)
        except BaseException:
            self._slots.give(label)
            raise
        return ClosingIterator(answer, lambda: self._slots.give(label))

    def _pass(
        self, label: str, user_id: str, standing: Standing, environ: Environ, start_response: StartResponse
    ) -> Iterable[bytes]:
        """Have the sandbox answer, or say why it does not."""
        if is_upgrade(environ) and is_from_elsewhere(environ):
            return pages.another_site()(environ, start_response)
        try:
            upstream = self._connect(standing)
        except DriverError as error:
            log.info("preview.unreachable", label=label, error=str(error))
            return pages.ended()(environ, start_response)
        if upstream is None:
            return _page_of(standing)(environ, start_response)
        carry = upgrade if is_upgrade(environ) else exchange
        return carry(environ, start_response, upstream, allowed=lambda: self._standing(label, user_id) is not None)

    def _wait_s(self, label: str, user_id: str | None, environ: Environ) -> int:
        """Count the request; the seconds to wait where a rate is used up."""
        rates = self._settings.limits.rates
        with self._app.app_context():
            if user_id is not None:
                return limiter.spend(rates.preview, "preview", f"{label} {user_id}")
            visitor = client_address(Request(environ), trusted_hops=self._settings.server.trusted_hops)
            return limiter.spend(rates.preview_address, "preview_address", network_of(visitor))

    def _admit(self, label: str, user_id: str, query: list[tuple[str, str]], environ: Environ) -> Response:
        """Exchange a link's token for the cookie, and take it out of the address."""
        left = urlencode([pair for pair in query if pair[0] != PARAMETER])
        path = "/" + environ.get("PATH_INFO", "").encode("latin-1").decode(errors="replace").lstrip("/\\")
        return pages.admitted(
            path,
            left,
            name=self._cookie,
            value=self._links.cookie(label, user_id),
            max_age_s=COOKIE_AGE_S,
            secure=self._secure,
        )

    def _standing(self, label: str, user_id: str | None) -> Standing | None:
        """The sandbox as this user may know it; None for no member, whether or not there is such a preview."""
        found = (
            sa.select(Sandbox)
            .join(Project, Project.id == Sandbox.project_id)
            .join(Membership, Membership.organization_id == Project.organization_id)
            .where(Sandbox.label == label, Membership.user_id == user_id)
        )
        with self._app.app_context():
            transactions.start_reading()
            row = db.session.scalar(found) if user_id is not None else None
            if row is None:
                return None
            return Standing(row.state, row.reference, row.problem, row.log, row.state not in LIVE)

    def _connect(self, standing: Standing) -> Upstream | None:
        """The way in while it runs; None for one that only has a page."""
        if standing.state is not PreviewState.RUNNING or standing.reference is None:
            return None
        with self._app.app_context():
            host: SandboxHost = drivers["sandbox"]
        return host.connect(standing.reference)


def _page_of(standing: Standing) -> Response:
    if standing.state is PreviewState.FAILED:
        return pages.failed(standing.problem or "", standing.log or "")
    return pages.ended() if standing.expired else pages.starting()
