"""Previews by host name: `<label>.<PREVIEW_HOST>` goes to the server inside that sandbox, for members only.

Stands before the application, whose routes, cookies and headers a preview never sees. A link's token becomes a cookie
of the preview's own host; who has neither, or is no member any more, gets 403.
"""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl, urlencode

import sqlalchemy as sa
import structlog
from flask import Flask, Response
from werkzeug.http import parse_cookie

from app import transactions
from app.core.preview_links import COOKIE, MAX_AGE_S, PARAMETER, Links
from app.drivers.errors import DriverError
from app.drivers.sandbox.port import SandboxHost, Upstream
from app.extensions import db, drivers
from app.http import preview_pages as pages
from app.http.preview_exchange import exchange
from app.http.preview_upgrade import is_upgrade, upgrade
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
    proxy = PreviewProxy(
        app,
        preview_host=settings.sandbox.preview_host,
        links=Links(settings.security.secret_key),
        secure=settings.server.base_url.startswith("https:"),
    )
    app.wsgi_app = proxy  # type: ignore[method-assign]


class PreviewProxy:
    """The WSGI callable before the application's own."""

    def __init__(self, app: Flask, *, preview_host: str, links: Links, secure: bool) -> None:
        self._app = app
        self._next: Callable[[Environ, StartResponse], Iterable[bytes]] = app.wsgi_app
        self._suffix = "." + preview_host.partition(":")[0].lower()
        self._links, self._secure = links, secure

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
        except (sa.exc.OperationalError, sa.exc.InterfaceError, sa.exc.TimeoutError):
            return pages.unavailable()(environ, start_response)

    def _serve(self, label: str, environ: Environ, start_response: StartResponse) -> Iterable[bytes]:
        query = parse_qsl(environ.get("QUERY_STRING", ""), keep_blank_values=True)
        token = next((value for name, value in query if name == PARAMETER), None)
        if token is not None:
            return self._admit(label, token, query, environ)(environ, start_response)
        cookies = parse_cookie(environ)
        user_id = self._links.user_of_cookie(cookies.get(COOKIE, ""), label)
        standing = self._standing(label, user_id)
        if user_id is None or standing is None:
            return pages.not_a_member()(environ, start_response)
        try:
            upstream = self._connect(standing)
        except DriverError as error:
            log.info("preview.unreachable", label=label, error=str(error))
            return pages.ended()(environ, start_response)
        if upstream is None:
            return _page_of(standing)(environ, start_response)
        if is_upgrade(environ):
            return upgrade(
                environ, start_response, upstream, allowed=lambda: self._standing(label, user_id) is not None
            )
        return exchange(environ, start_response, upstream)

    def _admit(self, label: str, token: str, query: list[tuple[str, str]], environ: Environ) -> Response:
        """Exchange a link's token for the cookie, and take it out of the address."""
        user_id = self._links.user_of_link(token, label)
        if user_id is None or self._standing(label, user_id) is None:
            return pages.not_a_member()
        left = urlencode([pair for pair in query if pair[0] != PARAMETER])
        path = "/" + environ.get("PATH_INFO", "").encode("latin-1").decode(errors="replace").lstrip("/\\")
        return pages.admitted(
            path, left, name=COOKIE, value=self._links.cookie(label, user_id), max_age_s=MAX_AGE_S, secure=self._secure
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
