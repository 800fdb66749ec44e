"""WSGI middleware that forwards `<label>.<PREVIEW_HOST>` to the server in that sandbox, for members only.

The label of a build is answered with the stored files of its output. With the key of a review link behind the label,
they are open to guests: the right to read is in the host name, because browsers block the cookies of framed hosts.

It runs before the application, so a preview never receives the routes, cookies and headers of the service. The token of
a link is exchanged for a cookie of the preview host. A visitor without a token, a cookie or a membership receives 403.
Rates apply per member and preview, or per address for other visitors. Concurrent requests are limited per preview.
"""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from urllib.parse import parse_qsl, urlencode
from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

import structlog
from flask import Flask, Request, Response
from werkzeug.http import parse_cookie
from werkzeug.wsgi import ClosingIterator

from app.access.client_address import client_address, network_of
from app.concurrency.bounded import ConcurrencyLimiter
from app.console.shell import static_files
from app.database import transactions
from app.database.errors import DatabaseError, is_transient
from app.drivers.errors import DriverError
from app.drivers.sandbox.port import SandboxHost, Upstream
from app.extensions import db, drivers, limiter
from app.models.project import Project
from app.models.sandbox import ACTIVE_STATES, MARKS_OF_SANDBOX, PreviewState, Sandbox
from app.models.site_build import BuildState, SiteBuild
from app.preview_proxy import pages
from app.preview_proxy.build_files import BuiltSite
from app.preview_proxy.headers import host_of
from app.preview_proxy.http_exchange import proxy_request
from app.preview_proxy.page_script import PREFIX, PageScript
from app.preview_proxy.websocket import is_cross_origin, is_upgrade, upgrade
from app.resources.review_link import queries as links
from app.resources.sandbox import service
from app.resources.sandbox.lifecycle import PreviewUrls
from app.resources.site_build import queries as builds
from app.security.preview_links import COOKIE, COOKIE_AGE_S, PARAMETER, SECURE_COOKIE, PreviewLinkSigner
from config import Settings

log = structlog.get_logger(__name__)

LABEL = re.compile(r"([0-9a-f]{32})(?:-([0-9a-f]{24}))?")
"""The label of a preview or build, and the key of a review link."""

OWN_HOST_ONLY = "default-src 'self' data: blob: 'unsafe-inline' 'unsafe-eval'; form-action 'self'; "


class NoSlot(Exception):
    """A preview or review link has the largest number of concurrent requests."""


@dataclass(frozen=True)
class PreviewAccess:
    """The state of a sandbox that its members may read, and the script in the pages of an editable one."""

    state: PreviewState
    host_id: str | None
    problem: str | None
    log: str | None
    expired: bool
    script: PageScript | None = None


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
        self._frame_ancestors = " ".join(["'self'", *settings.server.allowed_origins])

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        """Serve a request to a preview host. Pass every other request to the application."""
        host = host_of(environ)
        if not host.endswith(self._suffix):
            return self._next(environ, start_response)
        names = LABEL.fullmatch(host.removesuffix(self._suffix))
        if names is None:
            return pages.no_preview()(environ, start_response)
        label, host_key = names.groups()
        try:
            if host_key is not None:
                return self._serve_guest(label, host_key, environ, start_response)
            return self._serve(label, environ, start_response)
        except NoSlot:
            return pages.too_many(1)(environ, start_response)
        except DatabaseError as error:
            if not is_transient(error):
                raise
            return pages.unavailable()(environ, start_response)

    def _serve(self, label: str, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        query = parse_qsl(environ.get("QUERY_STRING", ""), keep_blank_values=True)
        token = next((value for name, value in query if name == PARAMETER), None)
        # The page of another preview can set a cookie with this name for all of them.
        cookies = parse_cookie(environ).getlist(self._cookie)
        user_id = next(filter(None, (self._links.user_of_cookie(value, label) for value in cookies)), None)
        if token is not None:
            user_id = self._links.user_of_link(token, label) or user_id
        wait_s = self._acquire_rate(label, user_id, environ)
        if wait_s:
            return pages.too_many(wait_s)(environ, start_response)
        access = self._find_access(label, user_id)
        built = None if access is not None else self._find_build(label, user_id)
        if user_id is None or (access is None and built is None):
            return pages.forbidden()(environ, start_response)
        if token is not None:
            return self._admit(label, user_id, query, environ)(environ, start_response)
        if access is not None and access.script is not None and environ.get("PATH_INFO", "").startswith(PREFIX):
            return access.script.respond(environ)(environ, start_response)
        if access is None:
            return self._in_slot(label, lambda: self._respond(built, environ)(environ, start_response))
        return self._in_slot(label, lambda: self._forward(label, user_id, access, environ, start_response))

    def _serve_guest(
        self, label: str, host_key: str, environ: WSGIEnvironment, start_response: StartResponse
    ) -> Iterable[bytes]:
        """Serve a build to a guest with an active review link. Guests have other slots than members.

        The rate counts all links of an address, because every unknown key would have its own.
        """
        wait_s = self._acquire_rate("review", self._network(environ), environ)
        if wait_s:
            return pages.too_many(wait_s)(environ, start_response)
        built = self._find_linked(label, host_key)
        if built is None:
            return pages.link_ended()(environ, start_response)
        return self._in_slot(f"{label}-{host_key}", lambda: self._respond(built, environ)(environ, start_response))

    def _in_slot(self, key: str, respond: Callable[[], Iterable[bytes]]) -> Iterable[bytes]:
        """Return the response of a request that counts as one of the concurrent requests of a key until it is sent.

        Raises:
            NoSlot: the key has the largest number of them.
        """
        if not self._slots.acquire(key):
            raise NoSlot
        try:
            response = respond()
        except BaseException:
            self._slots.release(key)
            raise
        return ClosingIterator(response, lambda: self._slots.release(key))

    def _find_linked(self, label: str, host_key: str) -> BuiltSite | Response | None:
        """Return the build that an active review link opens, the page of its state, or None."""
        with transactions.reading_context(self._app):
            opened = links.build_of_link(label, host_key)
            if opened is None:
                return None
            built = _built_site(opened.build, is_guest=True)
            if not isinstance(built, BuiltSite):
                return built
            own = OWN_HOST_ONLY if opened.blocks_hosts else ""
            policy = f"{own}frame-ancestors {self._settings.server.base_url}"
            script = static_files.content("guest-frame.js") if opened.takes_comments else b""
            url = PreviewUrls.of(self._settings).address(f"{label}-{host_key}").url
            return replace(built, policy=policy, script=script, url=url, change_set_id=opened.change_set_id)

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

        def is_member() -> bool:
            return self._find_access(label, user_id) is not None

        if is_upgrade(environ):
            return upgrade(environ, start_response, upstream, allowed=is_member, check_s=self._check_s)
        return proxy_request(
            environ,
            start_response,
            upstream,
            allowed=is_member,
            check_s=self._check_s,
            frame_ancestors=self._frame_ancestors,
            script=access.script,
        )

    def _acquire_rate(self, label: str, visitor: str | None, environ: WSGIEnvironment) -> int:
        """Count the request of a visitor, or of an unknown one. Return the seconds to wait at a full rate, else 0."""
        rates = self._settings.limits.rates
        with self._app.app_context():
            if visitor is not None:
                return limiter.try_acquire(rates.preview, "preview", f"{label} {visitor}")
            return limiter.try_acquire(rates.preview_address, "preview_address", self._network(environ))

    def _network(self, environ: WSGIEnvironment) -> str:
        return network_of(client_address(Request(environ), trusted_hops=self._settings.server.trusted_hops))

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
            expired, script = row.state not in ACTIVE_STATES, self._script_of(row)
            return PreviewAccess(row.state, row.host_id, row.problem, row.log, expired, script)

    def _script_of(self, sandbox: Sandbox) -> PageScript | None:
        if not sandbox.is_marked or sandbox.first_mark is None:
            return None
        last = sandbox.first_mark + MARKS_OF_SANDBOX - 1
        return PageScript.of(self._settings, sandbox.label, first=sandbox.first_mark, last=last)

    def _find_build(self, label: str, user_id: str | None) -> BuiltSite | Response | None:
        """Return a ready build of a member, the page of its state, or None without a build."""
        if user_id is None:
            return None
        with transactions.reading_context(self._app):
            build = builds.of_member(label, user_id)
            return None if build is None else _built_site(build)

    def _respond(self, built: BuiltSite | Response | None, environ: WSGIEnvironment) -> Response:
        """Return the response of a build. Its content is read from the store while it is sent."""
        if not isinstance(built, BuiltSite):
            return built or pages.no_preview()
        try:
            with transactions.reading_context(self._app):
                return built.respond(environ)
        except DriverError as error:
            log.warning("build.unreadable", build_id=built.build_id, error=str(error))
            return pages.unavailable()

    def _connect(self, access: PreviewAccess) -> Upstream | None:
        """Connect to a running sandbox. Return None for any other state, which has a page."""
        if access.state is not PreviewState.RUNNING or access.host_id is None:
            return None
        with self._app.app_context():
            host: SandboxHost = drivers.sandbox
        return host.connect(access.host_id)


def _built_site(build: SiteBuild, *, is_guest: bool = False) -> BuiltSite | Response:
    """Return a ready build, or the page of the state of another one. Guests do not read the log."""
    if build.state is BuildState.READY:
        project = db.session.get_one(Project, build.project_id)
        return BuiltSite(build.id, project.id, project.site_url, drivers.storage)
    if build.state is BuildState.FAILED:
        return pages.not_built("", "") if is_guest else pages.not_built(build.problem or "", build.log or "")
    return pages.expired() if build.state is BuildState.EXPIRED else pages.building()


def _state_page(access: PreviewAccess) -> Response:
    if access.state is PreviewState.FAILED:
        return pages.failed(access.problem or "", access.log or "")
    return pages.ended() if access.expired else pages.starting()
