"""Headers of responses: request id, security headers, CORS, `Allow`, sources of scripts. Checks of request headers."""

import re
import time
from collections.abc import Mapping
from functools import partial
from http import HTTPStatus
from secrets import token_hex

import structlog
from flask import Flask, Response, current_app, g, request
from flask_cors import CORS
from werkzeug.routing import MapAdapter

from app.access import authentication
from app.core.errors import AppError, PermissionDenied
from app.core.limits import InputLimits
from app.core.urls import origin_of
from app.extensions import current_settings
from app.observability import correlation
from app.observability.correlation import TRACEPARENT

log = structlog.get_logger("app.request")

REQUEST_ID = re.compile(r"[A-Za-z0-9._-]{8,64}")
SECURITY_HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
}
_HTTPS_ONLY = {"Strict-Transport-Security": "max-age=31536000"}
_HOST = re.compile(r"[a-z0-9_]([a-z0-9_.-]*[a-z0-9_])?(:[0-9]{1,5})?")


class InvalidOrigin(PermissionDenied):
    """An unsafe request with a session cookie from a page of another origin (403)."""

    code, message = "INVALID_ORIGIN", "Pages of this origin cannot call the service"


class HeadersTooLarge(AppError):
    """Headers that exceed the limit together (431)."""

    status, code, message = 431, "HEADERS_TOO_LARGE", f"The headers may have at most {InputLimits.header_bytes} bytes"


def init_app(app: Flask, allowed_origins: tuple[str, ...]) -> None:
    """Register the hooks."""
    init_cors(app, allowed_origins)
    app.before_request(_start)
    app.before_request(_check_size)
    app.before_request(_check_origin)
    https = app.config["SETTINGS"].server.base_url.startswith("https:")
    added = SECURITY_HEADERS | (_HTTPS_ONLY if https else {})
    app.after_request(partial(_finish, added))


def init_cors(app: Flask, allowed_origins: tuple[str, ...]) -> None:
    """Allow pages of these origins to read responses with credentials."""
    CORS(
        app,
        # Patterns: Flask-Cors would read the brackets of an IPv6 address in a text as a pattern.
        origins=[re.compile(re.escape(origin) + r"\Z", re.IGNORECASE) for origin in allowed_origins],
        supports_credentials=True,
        expose_headers=["ETag", "Link", "X-Request-Id", "Retry-After", "Idempotency-Replayed", TRACEPARENT],
        max_age=600,
        vary_header=False,  # Flask-Cors adds Origin only for allowed origins
    )


def _start() -> None:
    g.started_s = time.perf_counter()
    sent_id = request.headers.get("X-Request-Id", "")
    g.request_id = sent_id if REQUEST_ID.fullmatch(sent_id) else token_hex(16)
    g.trace_parent = received = correlation.parse_trace(request.headers)
    bound = received.child().bound() if received else {}
    structlog.contextvars.bind_contextvars(request_id=g.request_id, **bound)


def _check_size() -> None:
    sizes = (len(name) + len(value) for name, value in request.environ.items() if name.startswith("HTTP_"))
    if sum(sizes) > InputLimits.header_bytes:
        raise HeadersTooLarge


def _check_origin() -> None:
    """Check the origin of a request that is authenticated by the cookie. Pages cannot send a bearer token unasked."""
    origin = request.headers.get("Origin")
    if (
        origin is None
        or request.method in ("GET", "HEAD", "OPTIONS")
        or authentication.has_bearer()
        or authentication.cookie_name() not in request.cookies
    ):
        return
    if origin_of(origin) not in current_app.config["SETTINGS"].server.allowed_origins:
        raise InvalidOrigin


def init_before_compression(app: Flask) -> None:
    """Register what must run before the body is compressed."""
    app.after_request(_describe_methods)


def _describe_methods(response: Response) -> Response:
    """List the methods of this path, and declare an empty body: Flask-Compress compresses a body of unknown length."""
    if "Allow" in response.headers:
        response.headers["Allow"] = ", ".join(methods_of_path(current_app.create_url_adapter(request)))
    if request.method == "OPTIONS" and not response.is_streamed and not response.get_data():
        response.content_length = 0
    return response


def methods_of_path(adapter: MapAdapter | None) -> list[str]:
    """Return the methods of the requested path.

    A fixed path such as `/create` also matches `/<id>`, whose methods do not belong to it.
    """
    if adapter is None:
        return []
    rules = {
        method: adapter.match(method=method, return_rule=True)[0]
        for method in adapter.allowed_methods()
        if method != "OPTIONS"
    }
    fixed = [method for method, rule in rules.items() if not rule.arguments]
    return sorted({*(fixed or rules), "OPTIONS"})


def _finish(added: Mapping[str, str], response: Response) -> Response:
    headers = response.headers
    headers["X-Request-Id"] = g.get("request_id") or token_hex(16)
    if parent := correlation.trace_headers().get(TRACEPARENT):
        headers[TRACEPARENT] = parent
    present = {name.lower() for name, _value in headers}
    for name, value in added.items():
        if name.lower() not in present:
            headers.add(name, value)
    # A shared cache must not return the response for another origin.
    if "vary" in present:
        response.vary.add("Origin")
    else:
        headers.add("Vary", "Origin")
    log.info("request", **_log_fields(response))
    structlog.contextvars.clear_contextvars()
    return response


def _log_fields(response: Response) -> dict[str, object]:
    took_s = time.perf_counter() - g.get("started_s", time.perf_counter())
    fields: dict[str, object] = {
        "method": request.method,
        "route": str(request.url_rule or "-"),
        "status": response.status_code,
        "ms": round(took_s * 1000, 1),
    }
    if response.status_code > HTTPStatus.INTERNAL_SERVER_ERROR:
        fields["may_have_effect"] = g.get("may_have_effect", False)
    return fields


def sources_below(path: str) -> str:
    """Return the source expressions of the files below a path of this service.

    Uploads and files of repositories have the same origin, so `'self'` would permit them as scripts. A source with a
    path names its host: that of the request and that of BASE_URL, because a proxy may replace the header. The syntax
    has no IPv6 addresses; with one, the result is `'self'`.
    """
    base = origin_of(current_settings().server.base_url)
    host = request.host.lower()
    if not _HOST.fullmatch(host) or "[" in base:
        return "'self'"
    hosts = dict.fromkeys((host, base.partition("://")[2]))
    return " ".join(f"{name}{path}" for name in hosts if name)
